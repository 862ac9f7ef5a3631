// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "results/limits.hpp"
#include "workloads/limits/limit_curves.hpp"
#include "workloads/limits/rank_team.hpp"

namespace tutti {

/// What it costs ranks to tell each other something, and to give each other data through shared
/// memory or by the kernel. Keeps the best of all rounds.
class SignalLatencySampler {
public:
    explicit SignalLatencySampler(RankTeam& crew);

    /// All members: hand-overs between the first and each other, staged copies, single copies.
    void sample_all(Round round);
    /// The first member, with the machine to itself: clock, yield, wake-up.
    void sample_alone();

    void tell(Limits& limits) const;

private:
    double one_way(int other);
    double exchange(int other);
    double staged_rate(std::int64_t piece);
    double single_copy(std::int64_t bytes) const;

    RankTeam& crew_;
    std::uint64_t ticks_ = 0;  // what all lines have shown so far
    Limits best_;
};

/// From one thread to the next on the same core, when the first yields.
double yield_ns(int cpu);
/// From the futex call of a thread on one CPU until a thread that slept on the other runs.
double wake_ns(int from_cpu, int to_cpu);

}  // namespace tutti
