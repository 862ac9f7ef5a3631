// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/collective_form.hpp"
#include "base/units.hpp"
#include "results/comparison/comparison_records.hpp"

namespace tutti {

/// A bound for B: "all_reduce 1M ring shm busbw 20" (GB/s, as algbw) or
/// "all_reduce 8 p50 3us". Words between the size and the quantity tell calls and candidates apart.
struct Floor {
    enum class Side { at_least, at_most };
    enum class Quantity { busbw, algbw, p50 };

    Side side = Side::at_least;
    CollectiveForm collective;
    Bytes size;
    std::vector<std::string> words;
    Quantity quantity = Quantity::busbw;
    double bound = 0;  ///< GB/s, or microseconds
    std::string typed;
};

/// Throws Error with what to type instead.
Floor parse_floor(Floor::Side side, const std::string& typed);

/// A call of B: the metric as tables name it ("all_reduce 1M float sum registered ring (shm)"), its
/// median, and the number of ranks, 0 where it is not known.
struct TimeOfCall {
    std::string metric;
    double ns = 0;
    int nranks = 0;
};

/// Compares each floor with the worst call that it selects. Throws Error for a floor that selects
/// none.
std::vector<FloorRecord> hold_against(std::span<const Floor> floors,
                                      std::span<const TimeOfCall> calls);

}  // namespace tutti
