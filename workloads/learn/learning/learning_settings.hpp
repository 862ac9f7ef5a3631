// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "workloads/learn/training/network.hpp"
#include "workloads/learn/training/optimizer.hpp"
#include "workloads/program/settings.hpp"

namespace tutti {

// What workloads that learn the digits ask of their settings; all throw Error with one line.

/// --network
const NetworkKind& network_of(const Settings& asked);
/// --epochs: a number, or auto for `usual`.
int epochs_of(const Settings& asked, int usual);
/// --optimizer
const OptimizerKind& optimizer_of(const Settings& asked);
/// --learning-rate: a number, or auto for `usual`.
double learning_rate_of(const Settings& asked, double usual);

}  // namespace tutti
