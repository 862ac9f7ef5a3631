// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "results/comparison/judgement.hpp"
#include "results/comparison/quads.hpp"

namespace tutti {

/// Limit for the launches of a comparison's second stage: a verdict takes time with the square of
/// them.
constexpr int most_launches = 3'000;

/// One launch of A and B as it measured a metric.
struct Pair {
    std::string session;
    int launch = 1;
    int stage = 1;
    std::string metric;
    /// Stored launches only have a_ns and b_ns, one of which may be 0: they are not paired.
    LaunchOfMetric seen;

    bool operator==(const Pair&) const = default;
};

/// How A and B were measured: alternating within each launch, or each in launches of its own at
/// another time, which is weaker, as the machine is part of the difference.
enum class Pairing { by_turns, stored };
template <>
struct NamesOf<Pairing> {
    static constexpr const char* kind = "method";
    static constexpr Named<Pairing> rows[] = {{Pairing::by_turns, "turns"},
                                              {Pairing::stored, "stored"}};
};

/// The verdict on a metric, B against A.
struct VerdictRecord {
    std::string session;
    std::string metric;
    Change verdict = Change::undecided;
    double ratio = 1;               ///< B / A: a time of 1.05 or a rate of 0.95 is 5 % slower
    double low = 0, high = 0;       ///< of the ratio; 0 and 0: too few launches for an interval
    double confidence = 0.98;       ///< of the interval
    double p = 1;                   ///< adjusted for the number of metrics
    double noise = 0;               ///< 0.01: the same program against itself differed by 1 %
    double visible = 0;             ///< 0.03: a change of 3 % would have been seen; 0: not known
    double a_ns = 0, b_ns = 0;      ///< medians over the launches; 0 of a mean
    std::string unit = "ns";        ///< of these; a program may print another one, or none
    bool higher_is_better = false;  ///< true for rates
    int launches = 0;
    int stage = 1;
    std::string rule;       ///< what decided, in words
    std::string to_decide;  ///< of an undecided metric: what would decide it, in words
    int nranks = 0;         ///< 0: not known
    Pairing method = Pairing::by_turns;
    std::vector<std::string> ignored;  ///< what differs besides, and was let pass: "cores: 8, 4"

    bool operator==(const VerdictRecord&) const = default;
};

/// Where the time of a metric goes in both. Entry i is what step i took, from the end of the step
/// before it on the last rank to its own end there; the last entry is what came after the last
/// step.
struct StepGrowth {
    std::string session;
    std::string metric;
    int launches = 0;
    std::vector<double> a_ns, b_ns;
    std::vector<double> grew_ns;  ///< B against A: the median of what the rounds A B B A differ by

    std::size_t grew_most() const;  ///< a step's number; the number of steps: what came after them

    bool operator==(const StepGrowth&) const = default;
};

/// Converts a judgement to a record, without the times and how they were measured.
VerdictRecord record_of(const std::string& metric, const Judgement& judgement, const Rule& rule);

/// Returns what would decide an undecided metric that was measured by turns: a budget, at this mean
/// time of a launch (0: not known), another minimum effect, or a quieter machine. Empty if it is
/// decided.
std::string to_decide(const Judgement& judgement, const Rule& rule, double launch_seconds);

/// The file of Linux that says whether shared memory gets huge pages.
constexpr const char* shared_huge_pages = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";

/// Returns whether huge pages would make launches of this call ("all_reduce 1M ...") on one host
/// differ less: they are off (`setting` is the text of shared_huge_pages), and it has 256 KiB or
/// more. Its buffers then have other places in memory in each launch.
bool would_profit_from_huge_pages(const std::string& metric, const std::string& setting);

/// A bound that B has to reach, or a time that it may take, and whether it does.
struct FloorRecord {
    std::string session;
    std::string asked;   ///< "all_reduce 1M busbw at least 20 GB/s"
    std::string metric;  ///< the worst of the selected metrics
    int metrics = 1;     ///< number of selected metrics
    double value = 0;    ///< value of the worst one
    double bound = 0;
    std::string unit;
    bool met = true;

    bool operator==(const FloorRecord&) const = default;
};

}  // namespace tutti
