// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "kernels/sets.hpp"
#include "results/limits.hpp"
#include "workloads/limits/rank_team.hpp"

namespace tutti {

/// Which part of a round is measured: the sizes that take microseconds, or all.
enum class Round { short_one, long_one };

/// Sizes up to this are measured in every round.
inline constexpr std::int64_t short_pass_bytes = 32 << 20;

/// How fast cores pass over memory, one alone and all at once. All at once they work on everybody's
/// buffers as in a collective (member r has a source and a result with member r + 1), and on their
/// own in turn. Keeps the best of all rounds.
class CurveSampler {
public:
    /// Working sets of up to `most` bytes for each core.
    CurveSampler(RankTeam& crew, std::int64_t most);

    /// Shared memory that each member must have for that.
    static std::size_t bytes_for(std::int64_t most);

    /// All members.
    void sample_all(Round round);
    /// The first member, with the machine to itself.
    void sample_alone(Round round);

    std::vector<Curve> curves() const;

private:
    struct Evaluator {
        std::size_t pass;
        int cores;
        ReduceKernel kernel;
        std::vector<double> best;  // GB/s, by size
    };
    void sample(Evaluator& evaluator, Round round);
    double rate(const Evaluator& evaluator, std::int64_t working_set);

    RankTeam& crew_;
    std::vector<std::int64_t> sizes_;
    std::vector<Evaluator> tracks_;
};

}  // namespace tutti
