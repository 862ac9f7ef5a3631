// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "workloads/learn/data_parallel/trainer.hpp"
#include "workloads/learn/training/network.hpp"
#include "workloads/learn/training/optimizer.hpp"
#include "workloads/program/settings.hpp"

namespace tutti {

/// The options by which a workload lets its user say what is learnt; in a row of settings.
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

/// What was asked for, for so many ranks. Throws Error, one line, for what cannot be learnt so.
TrainingSetup training_setup_of(const Settings& settings, int ranks, std::uint64_t seed);

/// "mlp of 84746 parameters, 1437 rows, ...".
std::string in_words(const TrainingSetup& setup, int ranks);

// What workloads that learn the digits ask of their settings; all throw Error with one line.

/// --network
const NetworkKind& network_of(const Settings& settings);
/// --epochs: a number, or auto for `usual`.
int epochs_of(const Settings& settings, int default_value);
/// --optimizer
const OptimizerKind& optimizer_of(const Settings& settings);
/// --learning-rate: a number, or auto for `usual`.
double learning_rate_of(const Settings& settings, double default_value);

}  // namespace tutti
