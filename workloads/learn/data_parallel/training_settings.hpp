// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "workloads/learn/data_parallel/trainer.hpp"
#include "workloads/learn/training/network.hpp"
#include "workloads/learn/training/optimizer.hpp"
#include "workloads/program/settings.hpp"

namespace tutti {

inline constexpr SettingRow network_setting{"network", "network to train: logistic, mlp, cnn",
                                            "mlp"};

/// The settings of a data-parallel training.
inline constexpr SettingRow training_options[] = {
    {"network", "network to train: logistic, mlp or cnn (square images)", "mlp"},
    {"data", "digits (built in) or a LIBSVM file; every fifth row is used for testing", "digits"},
    {"optimizer", "sgd (with momentum), adam or lbfgs", "sgd"},
    {"batch", "rows per step, or all; auto: 32, lbfgs: all", "auto"},
    {"scaling",
     "strong (the ranks share a batch) or weak (one batch per rank; the learning rate grows with "
     "the ranks)",
     "strong"},
    {"warm-up-epochs", "epochs of growing learning rate with weak scaling", "2"},
    {"epochs", "passes through the data; auto: enough to learn the digits", "auto"},
    {"learning-rate", "learning rate of one rank; auto: the optimizer's default", "auto"},
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
