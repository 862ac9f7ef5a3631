// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/world/world.hpp"
#include "workloads/timing/global_clock.hpp"

namespace tutti {

/// The part of a step to run.
enum class StepPart : std::uint8_t { whole, compute, communication };

constexpr bool computes(StepPart part) { return part != StepPart::communication; }
constexpr bool communicates(StepPart part) { return part != StepPart::compute; }

/// Times of one rank in a step, by the common clock.
struct StepStamps {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t compute_ns = 0;  ///< time spent computing

    /// A call of this rank, from its start to when the rank saw its end.
    struct Span {
        std::int64_t start_ns = 0;
        std::int64_t end_ns = 0;
    };
    std::vector<Span> calls;  ///< by call; all 0 if the rank took no part
};

/// Times of a step over all ranks, in ns.
struct StepTimes {
    std::int64_t step = 0;     ///< from the last rank's begin to the last one's end
    std::int64_t compute = 0;  ///< of the rank with the longest computing
    /// For all collectives, concurrent ones too: how long ranks waited in them for the last rank to
    /// start, as the mean of the ranks; and how long they took from then on, on the slowest rank.
    std::int64_t wait = 0;
    std::int64_t work = 0;
    Rank last = {0};  ///< ended last
};

/// Combines the stamps of all ranks, which have the same number of calls. Collective; the same on
/// all ranks.
StepTimes times_of(World& world, const GlobalClock* clock, const StepStamps& mine);

/// Does the same from all stamps, by rank.
StepTimes times_of(std::span<const StepStamps> all);

}  // namespace tutti
