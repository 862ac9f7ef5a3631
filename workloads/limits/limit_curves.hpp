// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "kernels/sets.hpp"
#include "results/records/limits.hpp"
#include "workloads/limits/rank_team.hpp"

namespace tutti {

/// Which sizes a round measures: those up to short_pass_bytes, or all.
enum class Round { short_one, long_one };

inline constexpr std::int64_t short_pass_bytes = 32 << 20;

/// How fast cores read and write memory, one core and all at once. All at once they work
/// alternately on each other's buffers as in a collective (member r has a source and a result of
/// member r + 1) and on their own. Keeps the best of all rounds.
class CurveSampler {
public:
    /// Working sets of up to `most` bytes for each core.
    CurveSampler(RankTeam& team, std::int64_t most);

    /// Shared memory that each member must have for that.
    static std::size_t bytes_for(std::int64_t most);

    /// All members.
    void sample_all(Round round);
    /// The first member, while the others sleep.
    void sample_one_core(Round round);

    std::vector<Curve> curves() const;

private:
    struct Series {
        std::size_t pass;
        int cores;
        ReduceKernel kernel;
        std::vector<double> best;  // GB/s, by size
    };
    void sample(Series& series, Round round);
    double rate(const Series& series, std::int64_t working_set);

    RankTeam& team_;
    std::vector<std::int64_t> sizes_;
    std::vector<Series> series_;
};

/// From which size on streaming stores pay: all members exchange sums as a direct all-reduce does,
/// with cached and streaming stores in turn. Keeps the best of all rounds.
class StreamSampler {
public:
    /// Calls whose inputs and outputs have up to `most` bytes together; each member has its share
    /// of that in shared memory.
    StreamSampler(RankTeam& team, std::int64_t most);

    void sample_all(Round round);

    const std::vector<StreamTrial>& trials() const { return trials_; }

private:
    double call_ns(Stores stores, std::int64_t bytes);

    RankTeam& team_;
    std::vector<StreamTrial> trials_;
    ReduceKernel kernels_[2];
    int rounds_ = 0;
};

}  // namespace tutti
