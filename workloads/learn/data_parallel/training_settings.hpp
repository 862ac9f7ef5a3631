// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "workloads/learn/data_parallel/trainer.hpp"
#include "workloads/learn/training/network.hpp"
#include "workloads/learn/training/optimizer.hpp"
#include "workloads/program/settings.hpp"

namespace tutti {

inline constexpr SettingRow network_setting{"network", "what learns the digits: logistic, mlp, cnn",
                                            "mlp"};

/// The settings of a data-parallel training.
inline constexpr SettingRow training_options[] = {
    {"network", "logistic, mlp or cnn (of square images)", "mlp"},
    {"data", "digits (a part of the program) or a LIBSVM file; every fifth row is for testing",
     "digits"},
    {"optimizer", "sgd (with momentum), adam or lbfgs", "sgd"},
    {"batch", "rows of a step, or all; auto: 32, and all for lbfgs", "auto"},
    {"scaling",
     "strong (the ranks share a batch) or weak (each has one; the learning rate grows with the "
     "ranks)",
     "strong"},
    {"warm-up-epochs", "in which the learning rate grows, if the scaling is weak", "2"},
    {"epochs", "how often the data is gone through; auto: what the network needs for the digits",
     "auto"},
    {"learning-rate", "of one rank; auto: what the optimizer begins with", "auto"},
};

/// The training that the settings ask for on so many ranks. Throws Error for what is impossible.
TrainingSetup training_setup_of(const Settings& settings, int ranks, std::uint64_t seed);

/// "mlp of 84746 parameters, 1437 rows, ...".
std::string in_words(const TrainingSetup& setup, int ranks);

// Settings of all workloads that train. All throw Error for values that are none.

/// --network
const NetworkKind& network_of(const Settings& settings);
/// --epochs: a number, or auto for the default.
int epochs_of(const Settings& settings, int default_value);
/// --optimizer
const OptimizerKind& optimizer_of(const Settings& settings);
/// --learning-rate: a number, or auto for the default.
double learning_rate_of(const Settings& settings, double default_value);

}  // namespace tutti
