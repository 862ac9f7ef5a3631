// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "results/records/key.hpp"
#include "results/records/step.hpp"

namespace tutti {

/// Returns the number of hosts that hold `nranks` ranks, with `ppn` on each.
constexpr int hosts_of(int nranks, int ppn) { return ppn > 0 ? (nranks + ppn - 1) / ppn : 1; }

/// "4 ranks on 2 hosts", and the placement unless it is the launcher's.
std::string place_in_words(int nranks, int ppn, const std::string& placement);

/// Names a metric, the same in all commands and files: call, candidate and place,
/// "all_reduce 4K float sum registered ring (shm), 4 ranks on 2 hosts". Times of one metric on
/// one machine repeat each other if the calls start in the same way.
std::string metric_of(const Key& key);

/// Names a training step: "ddp resnet18 scale=0.1 ring/shm, 4 ranks on 2 hosts".
std::string metric_of(const StepKey& key);

/// Removes the place from the name of a metric: files of older versions have names without it.
std::string without_place(std::string_view metric);

/// Adds the number of ranks to the name of a call that has no place. Other names stay.
std::string with_ranks(const std::string& metric, int nranks);

}  // namespace tutti
