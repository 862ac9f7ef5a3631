// SPDX-License-Identifier: Apache-2.0
// Steps and bytes against the textbook. Bytes are in vectors (n): what the busiest rank sends.
#include <gtest/gtest.h>

#include <bit>

#include "collectives/algorithms/catalog.hpp"
#include "collectives/schedule/count.hpp"

namespace tutti {
namespace {

using enum Collective;

int lg(int ranks) { return std::bit_width(static_cast<unsigned>(ranks - 1)); }  // rounded up
int floor_lg(int ranks) { return std::bit_width(static_cast<unsigned>(ranks)) - 1; }
bool is_power(int ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)); }
double rest(int ranks) { return static_cast<double>(ranks - 1) / ranks; }

struct Formula {
    Collective collective;
    const char* algorithm;
    int (*steps)(int ranks);
    double (*sent)(int ranks);
    bool powers_only = false;
};

// clang-format off
const Formula formulas[] = {
    {all_reduce, "ring",        [](int p) { return 2 * (p - 1); }, [](int p) { return 2 * rest(p); }},
    {all_reduce, "round-robin", [](int p) { return 2 * (p - 1); }, [](int p) { return 2 * rest(p); }},
    {all_reduce, "tree",        [](int p) { return 2 * lg(p); },   [](int p) { return 1.0 * lg(p); }},
    {all_reduce, "linear",      [](int) { return 2; },             [](int p) { return p - 1.0; }},
    {all_reduce, "butterfly",   [](int p) { return floor_lg(p) + (is_power(p) ? 0 : 2); },
                                [](int p) { return floor_lg(p) + (is_power(p) ? 0.0 : 1.0); }},
    {all_reduce, "halving-doubling", [](int p) { return 2 * floor_lg(p) + (is_power(p) ? 0 : 2); },
                                [](int p) { return 2 * rest(1 << floor_lg(p)) + (is_power(p) ? 0.0 : 1.0); }},
    {all_reduce, "circulant",   [](int p) { return 2 * lg(p); },   [](int p) { return 2 * rest(p); }},
    {all_reduce, "one-shot",    [](int) { return 1; },             [](int p) { return p - 1.0; }},
    {all_reduce, "two-shot",    [](int) { return 2; },             [](int p) { return 2 * rest(p); }},
    {all_reduce, "chain",       [](int p) { return 2 * (p - 1); }, [](int p) { return p == 2 ? 1.0 : 2.0; }},

    {all_gather, "ring",        [](int p) { return p - 1; },       [](int p) { return rest(p); }},
    {all_gather, "round-robin", [](int p) { return p - 1; },       [](int p) { return rest(p); }},
    {all_gather, "bruck",       lg,                                [](int p) { return rest(p); }},
    {all_gather, "circulant",   lg,                                [](int p) { return rest(p); }},
    {all_gather, "butterfly",   lg,                                [](int p) { return rest(p); }, true},
    {all_gather, "one-shot",    [](int) { return 1; },             [](int p) { return rest(p); }},
    {all_gather, "tree",        [](int p) { return 2 * lg(p); },   [](int p) { return 1.0 * lg(p); }},

    {reduce_scatter, "ring",        [](int p) { return p - 1; },   [](int p) { return rest(p); }},
    {reduce_scatter, "round-robin", [](int p) { return p - 1; },   [](int p) { return rest(p); }},
    {reduce_scatter, "circulant",   lg,                            [](int p) { return rest(p); }},
    {reduce_scatter, "butterfly",   lg,                            [](int p) { return rest(p); }, true},
    {reduce_scatter, "one-shot",    [](int) { return 1; },         [](int p) { return rest(p); }},

    {broadcast, "ring",        [](int p) { return 2 * (p - 1); },  [](int) { return 1.0; }},
    {broadcast, "tree",        lg,                                 [](int p) { return 1.0 * lg(p); }},
    {broadcast, "butterfly",   [](int p) { return 2 * lg(p); },    [](int p) { return 2 * rest(p); }, true},
    {broadcast, "round-robin", [](int p) { return 2 * (p - 1); },  [](int p) { return 2 * rest(p); }},
    {broadcast, "linear",      [](int) { return 1; },              [](int p) { return p - 1.0; }},
    {broadcast, "chain",       [](int p) { return p - 1; },        [](int) { return 1.0; }},

    {reduce, "tree",           lg,                                 [](int) { return 1.0; }},
    {reduce, "linear",         [](int) { return 1; },              [](int) { return 1.0; }},
    {reduce, "butterfly",      [](int p) { return 2 * lg(p); },    [](int p) { return 2 * rest(p) - (p > 1 ? rest(p) - rest(2) : 0); }, true},

    {scatter, "ring",          [](int p) { return p - 1; },        [](int p) { return rest(p); }},
    {scatter, "tree",          lg,                                 [](int p) { return rest(p); }},
    {scatter, "butterfly",     lg,                                 [](int p) { return rest(p); }},
    {scatter, "round-robin",   [](int p) { return p - 1; },        [](int p) { return rest(p); }},
    {scatter, "linear",        [](int) { return 1; },              [](int p) { return rest(p); }},

    {gather, "round-robin",    [](int p) { return p - 1; },        [](int p) { return 1.0 / p; }},
    {gather, "linear",         [](int) { return 1; },              [](int p) { return 1.0 / p; }},

    {all_to_all, "round-robin", [](int p) { return p - 1; },       [](int p) { return rest(p); }},
    {all_to_all, "linear",      [](int) { return 1; },             [](int p) { return rest(p); }},
    {all_to_all, "ring",        [](int p) { return p - 1; },       [](int p) { return (p - 1) / 2.0; }},
    {all_to_all, "bruck",       lg,                                [](int p) { return lg(p) / 2.0; }, true},
    {all_to_all, "butterfly",   lg,                                [](int p) { return lg(p) / 2.0; }, true},
};
// clang-format on

TEST(Counts, EqualTheTextbook) {
    for (const Formula& formula : formulas)
        for (int ranks : {2, 3, 4, 5, 7, 8, 12, 13, 16, 31, 32, 33}) {
            if (formula.powers_only && !is_power(ranks)) continue;
            const Job job{.collective = formula.collective, .ranks = ranks};
            const Schedule schedule = find_algorithm(job.collective, formula.algorithm).build(job);
            const Counts counts = count(schedule, Promise{job.collective, ranks});
            const double sent = static_cast<double>(counts.most_sent()) / counts.chunks_per_vector;
            SCOPED_TRACE(std::string(name_of(job.collective)) + " " + formula.algorithm + " on " +
                         std::to_string(ranks) + " ranks");
            EXPECT_EQ(counts.steps, formula.steps(ranks));
            EXPECT_NEAR(sent, formula.sent(ranks), 1e-9);
        }
}

// Pipelining adds one step per further segment and not a byte.
TEST(Counts, OfPipelinedAlgorithmsGrowByOneStepPerSegment) {
    for (const Algorithm& algorithm : catalog()) {
        if (!algorithm.pipelines) continue;
        for (int ranks : {2, 3, 8, 13}) {
            Job job{.collective = algorithm.collective, .ranks = ranks};
            const Promise promise{job.collective, ranks};
            const Counts whole = count(algorithm.build(job), promise);
            job.segments = 6;
            const Counts cut = count(algorithm.build(job), promise);
            EXPECT_EQ(cut.steps, whole.steps + 5) << algorithm.name;
            EXPECT_NEAR(cut.busiest(), whole.busiest(), 1e-9) << algorithm.name;
        }
    }
}

// Who is an inner node in one tree is a leaf in the other: nobody sends more than a vector and a
// half (the seat that has a single child in both counts less), and depth is logarithmic.
TEST(Counts, OfTheDoubleTreeSpreadTheLoad) {
    for (int ranks = 2; ranks <= 65; ++ranks) {
        const Job job{.collective = broadcast, .ranks = ranks};
        const Counts counts =
            count(find_algorithm(broadcast, "double-tree").build(job), Promise{broadcast, ranks});
        EXPECT_LE(counts.busiest(), 1.0) << ranks;
        EXPECT_LE(counts.steps, lg(ranks) + 1) << ranks;
    }
}

// What crosses between nodes: one vector's all-reduce among the leaders, whatever the node size.
TEST(Counts, OfTwoLevelsSendLittleAcrossNodes) {
    const int ranks = 12, per_node = 4, nodes = 3;
    const Job job{.collective = all_reduce,
                  .ranks = ranks,
                  .placement = Placement::in_nodes_of(ranks, per_node)};
    const Schedule schedule = find_algorithm(all_reduce, "two-level").build(job);
    long across = 0;
    for (int step = 0; step < schedule.steps(); ++step)
        schedule.visit(step, [&](const Transfer& t) {
            if (t.from.index / per_node != t.to.index / per_node) across += t.chunks.count;
        });
    EXPECT_EQ(across, nodes * 2 * (nodes - 1) * schedule.chunks() / nodes);
}

}  // namespace
}  // namespace tutti
