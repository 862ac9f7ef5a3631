// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "base/types.hpp"
#include "base/units.hpp"

namespace tutti {

/// Gigabytes (10^9) per second, as nccl-tests defines them.
struct Bandwidth {
    double algbw = 0;  // size over time: what the caller sees
    double busbw =
        0;  // algbw times bus_factor: comparable with the speed of a link, for any rank count

    bool operator==(const Bandwidth&) const = default;
};

/// busbw / algbw: the share of `size` that the busiest rank must send over its link. 0 for one
/// rank.
double bus_factor(Collective collective, int ranks);

/// `size` is nccl-tests' size column: the whole vector that the collective fills or spreads, so P
/// times the per-rank part for all_gather, reduce_scatter, scatter, gather and all_to_all. No time,
/// no bandwidth. The rule for the lengths of blocks (Key::blocks) does not change the factor,
/// except that a ring of sends and receives (`next`) sends all of its size.
Bandwidth bandwidth(Collective collective, int ranks, Bytes size, double nanoseconds,
                    std::string_view blocks = {});

}  // namespace tutti
