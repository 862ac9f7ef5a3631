// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "results/records/limits.hpp"
#include "workloads/limits/limit_curves.hpp"

namespace tutti {

/// What it costs ranks to signal each other, and to exchange data through shared memory or by the
/// kernel. Keeps the best of all rounds.
class SignalLatencySampler {
public:
    explicit SignalLatencySampler(RankTeam& team);

    /// All members: signals between the first and each other, copies in and out of shared memory,
    /// single copies.
    void sample_all(Round round);
    /// The first member, while the others sleep: clock, yield, wake-up.
    void sample_one_core();

    /// Sets what it has measured; leaves the rest as it is.
    void write_to(Limits& limits) const;

private:
    double one_way(int other);
    double exchange(int other);
    double staged_rate(std::int64_t piece);
    double single_copy(std::int64_t bytes) const;

    RankTeam& team_;
    std::uint64_t ticks_ = 0;  // what all counters have reached so far
    Limits best_;
};

}  // namespace tutti
