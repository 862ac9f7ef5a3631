// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/uio.h>

#include <vector>

#include "kernels/sets.hpp"
#include "results/records/limits.hpp"
#include "workloads/limits/rank_team.hpp"

namespace tutti {

/// Sizes that a round measures: those up to short_pass_bytes, or all.
enum class CurveRound { short_one, long_one };

inline constexpr std::int64_t short_pass_bytes = 32 << 20;

/// Measures how fast cores read and write memory, one core and all at once. All at once, they work
/// alternately on each other's buffers as in a collective (member r has a source and a result of
/// member r + 1) and on their own. Keeps the best of all rounds.
class CurveSampler {
public:
    /// Uses working sets of up to `most` bytes for each core.
    CurveSampler(RankTeam& team, std::int64_t most);

    /// Returns the shared memory that each member needs for that.
    static std::size_t bytes_for(std::int64_t most);

    /// Called by all members.
    void sample_all(CurveRound round);
    /// Called by the first member, while the others sleep.
    void sample_one_core(CurveRound round);

    std::vector<Curve> curves() const;

private:
    struct Series {
        std::size_t pass;
        int cores;
        ReduceKernel kernel;
        std::vector<double> best;  // GB/s, by size
    };
    void sample(Series& series, CurveRound round);
    double rate(const Series& series, std::int64_t working_set);

    RankTeam& team_;
    std::vector<std::int64_t> sizes_;
    std::vector<Series> series_;
};

/// Finds the size from which streaming stores are faster: all members exchange sums as a direct
/// all-reduce does, with cached and streaming stores in turn. Keeps the best of all rounds.
class StreamSampler {
public:
    /// Samples calls with inputs and outputs of up to `most` bytes in total; each member has its
    /// share in shared memory.
    StreamSampler(RankTeam& team, std::int64_t most);

    void sample_all(CurveRound round);

    const std::vector<StreamTrial>& trials() const { return trials_; }

private:
    double call_ns(Stores stores, std::int64_t bytes);

    RankTeam& team_;
    std::vector<StreamTrial> trials_;
    ReduceKernel kernels_[2];
    int rounds_ = 0;
};

/// Measures the time for ranks to signal each other, and to exchange data through shared memory or
/// the kernel. Keeps the best of all rounds.
class SignalLatencySampler {
public:
    explicit SignalLatencySampler(RankTeam& team);

    /// Called by all members: signals between the first and each other, copies in and out of shared
    /// memory, single copies.
    void sample_all(CurveRound round);
    /// Called by the first member, while the others sleep: clock, yield, wake-up.
    void sample_one_core();

    /// Sets the measured values; leaves the rest as it is.
    void write_to(Limits& limits) const;

private:
    double one_way(int other);
    double exchange(int other);
    double staged_rate(std::int64_t piece);
    double single_copy(decltype(process_vm_readv)* copy, std::int64_t bytes) const;

    RankTeam& team_;
    std::uint64_t ticks_ = 0;  // reached by all counters so far
    Limits best_;
};

}  // namespace tutti
