// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "results/records/point.hpp"
#include "results/records/step.hpp"
#include "results/statistics/ratio.hpp"

namespace tutti {

/// One candidate at one size, over all launches that measured it with right results.
struct RankedCell {
    std::size_t candidate = 0;                      ///< its place in Ranking::candidates()
    std::vector<const Point*> points;               ///< one of each launch
    std::vector<std::pair<int, LogValue>> medians;  ///< by the number of the launch
    double p50 = 0, p05 = 0, p95 = 0;               ///< ns; medians over the launches
    double busbw = 0;
    double limit_ns = 0;                ///< the least of the launches; 0: unknown
    std::optional<Ratio> time;          ///< ns
    std::optional<Ratio> over_library;  ///< times as fast as the library of the table
    /// Its time over the best's, at least 1. Nothing where no launch measured both.
    std::optional<Ratio> over_best;
    bool is_tied = false;     ///< best, or statistically tied with the best
    bool is_unknown = false;  ///< too few calls, or no common launch, to compare it with the best

    /// % of the lower bound on the time; nothing without one.
    std::optional<double> percent_of_limit() const;
    /// Whether every launch was faster than the lower bound by more than its interval explains.
    bool beats_limit() const;
    /// Returns the largest over the least lower bound of the launches; 1 without lower bounds.
    double limit_change() const;
};

/// All candidates at one size.
struct RankedSize {
    Bytes bytes;
    std::vector<RankedCell> cells;   ///< in the order of the candidates
    std::vector<std::size_t> order;  ///< places in `cells`, the fastest first

    const RankedCell* cell_of(std::size_t candidate) const;
    const RankedCell& best() const { return cells[order.front()]; }
};

/// The ratio of two candidates' times; nothing where no launch measured both.
std::optional<Ratio> compared(const RankedCell& above, const RankedCell& below);

/// Whether no interval separates a candidate from the best. Without an interval a time counts as
/// tied that is within the best's interval or 10 % above it.
bool is_tied(const RankedCell& cell, const RankedCell& best);

/// Candidates for the same call in all its sizes: who is fastest, by how much, and how sure that
/// is. All tables, pages and figures show the numbers of this class.
class Ranking {
public:
    /// Points that differ in candidate, size and launch alone. Of several points of a candidate at
    /// one size in one launch the last one counts.
    explicit Ranking(std::span<const Point* const> points);

    /// Fastest first, by the mean distance to the best; those that miss most sizes come last.
    const std::vector<Configuration>& candidates() const { return candidates_; }
    /// Ascending; sizes without a right result are left out.
    const std::vector<RankedSize>& sizes() const { return sizes_; }
    /// One candidate of each library: its default, else its best variant.
    const std::vector<std::size_t>& libraries() const { return libraries_; }
    /// The library that all are compared with: NCCL, else MPI, else another one.
    std::optional<std::size_t> library() const;
    /// Candidates and sizes with wrong results in some launch, and how many elements were wrong.
    struct Wrong {
        Configuration candidate;
        Bytes bytes;
        std::int64_t elements = 0;
    };
    const std::vector<Wrong>& wrong() const { return wrong_; }

    /// The candidate of a point of this ranking.
    Configuration candidate_of(const Key& key) const;

    /// The geometric mean over the sizes that both candidates have, and the number of these sizes.
    std::pair<std::optional<Ratio>, std::size_t> mean_compared(std::size_t above,
                                                               std::size_t below) const;

private:
    void add_cells(std::span<const Point* const> points);
    void choose_libraries();
    void rank(RankedSize& size) const;
    void order_candidates();

    std::set<std::string> with_segments_;  // algorithms with several segments at one size
    std::vector<Configuration> candidates_;
    std::vector<RankedSize> sizes_;
    std::vector<std::size_t> libraries_;
    std::vector<Wrong> wrong_;
};

/// The geometric mean of ratios of the same two candidates, or of pairs of them, at several sizes;
/// only launches that have all sizes count.
std::optional<Ratio> geometric_mean(
    std::span<const std::vector<std::pair<int, LogValue>>> ratios_of_sizes);

/// The ratio in each launch that measured both, by the number of the launch.
std::vector<std::pair<int, LogValue>> ratios_by_launch(const RankedCell& above,
                                                       const RankedCell& below);

/// One method of communicating, over all launches that measured its step with right results.
struct RankedMethod {
    std::string name;
    std::vector<const TrainingStep*> steps;  ///< one of each launch
    double step_ns = 0, compute_ns = 0, communication_ns = 0, exposed_ns = 0;  ///< medians
    Ratio time;                                                                ///< ns, of a step
    std::optional<Ratio> over_best;  ///< its time over that of the shortest step
    bool is_tied = false;            ///< shortest, or statistically tied with the shortest
    bool is_unknown = false;         ///< too few steps, or no common launch, to compare it
};

/// The methods of steps that differ in method and launch alone, the shortest step first.
std::vector<RankedMethod> ranked_methods(std::span<const TrainingStep* const> steps);

}  // namespace tutti
