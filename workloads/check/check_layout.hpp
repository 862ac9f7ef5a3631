// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "workloads/check/check_data.hpp"

namespace tutti::check_data {

/// `length` neighbouring elements of `source`'s input, from `first` on. Where shares are combined,
/// the same elements of every rank's input.
struct Run {
    Rank source;
    std::int64_t first;
    std::int64_t length;
};

/// What a rank's result is made of, in order.
std::vector<Run> result_runs(const CheckCase& check, Rank rank);

}  // namespace tutti::check_data
