// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "workloads/learn/data_parallel/trainer.hpp"
#include "workloads/learn/training/network.hpp"
#include "workloads/learn/training/optimizer.hpp"
#include "workloads/program/settings.hpp"

namespace tutti {

inline constexpr SettingRow network_setting{"network", "Network to train: logistic, mlp or cnn",
                                            "mlp"};

/// The settings of a data-parallel training.
inline constexpr SettingRow training_options[] = {
    {"network", "Network to train: logistic, mlp or cnn (square images)", "mlp"},
    {"data", "Data: digits (built in) or a LIBSVM file; every fifth row is used for testing",
     "digits"},
    {"optimizer", "Optimizer: sgd (with momentum), adam or lbfgs", "sgd"},
    {"batch", "Rows per step, or all; auto: 32 (lbfgs: all)", "auto"},
    {"scaling",
     "Scaling: strong (the ranks share a batch) or weak (one batch per rank; the learning rate "
     "grows with the number of ranks)",
     "strong"},
    {"warm-up-epochs", "Epochs in which the learning rate grows, with weak scaling", "2"},
    {"epochs", "Passes through the data; auto: enough to learn the digits", "auto"},
    {"learning-rate", "Learning rate of one rank; auto: the optimizer's default", "auto"},
};

/// Returns the training that the settings describe on this many ranks. Throws Error if it is
/// impossible.
TrainingSetup training_setup_of(const Settings& settings, int ranks, std::uint64_t seed);

/// Returns "mlp: 84746 parameters; 1437 rows ...".
std::string describe(const TrainingSetup& setup, int ranks);

// Settings of all workloads that train. All throw Error for invalid values.

/// --network
const NetworkKind& network_of(const Settings& settings);
/// --epochs: a number, or auto for the default.
int epochs_of(const Settings& settings, int default_value);
/// --optimizer
const OptimizerKind& optimizer_of(const Settings& settings);
/// --learning-rate: a number, or auto for the default.
double learning_rate_of(const Settings& settings, double default_value);

}  // namespace tutti
