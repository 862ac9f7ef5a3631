// SPDX-License-Identifier: Apache-2.0
// Steps and bytes compared with the textbook. Bytes are in vectors (n) sent by the busiest rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "base/index.hpp"
#include "collectives/algorithms/catalog.hpp"
#include "collectives/schedule/count.hpp"
#include "collectives/schedule/verify.hpp"

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
    {all_gather, "tree",        [](int p) { return 2 * lg(p); },   [](int p) { return lg(p) * rest(p); }},
    {all_gather, "linear",      [](int) { return 2; },             [](int p) { return (p - 1) * rest(p); }},

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

    {barrier, "tree",          [](int p) { return 2 * lg(p); },    [](int p) { return 1.0 * lg(p); }},
    {barrier, "butterfly",     [](int p) { return floor_lg(p) + (is_power(p) ? 0 : 2); },
                               [](int p) { return floor_lg(p) + (is_power(p) ? 0.0 : 1.0); }},
    {barrier, "linear",        [](int) { return 2; },              [](int p) { return p - 1.0; }},
    {barrier, "one-shot",      [](int) { return 1; },              [](int p) { return p - 1.0; }},
};
// clang-format on

TEST(Counts, EqualTheTextbook) {
    for (const Formula& formula : formulas)
        for (int ranks : {2, 3, 4, 5, 7, 8, 12, 13, 16, 31, 32, 33}) {
            if (formula.powers_only && !is_power(ranks)) continue;
            const Job job{.collective = formula.collective, .ranks = ranks};
            const Schedule schedule = find_algorithm(job.collective, formula.algorithm).build(job);
            const Counts counts = count(schedule, CollectiveSpec{job.collective, ranks});
            const double sent = static_cast<double>(counts.most_sent()) / counts.chunks_per_vector;
            SCOPED_TRACE(std::string(name_of(job.collective)) + " " + formula.algorithm + " on " +
                         std::to_string(ranks) + " ranks");
            EXPECT_EQ(counts.steps, formula.steps(ranks));
            EXPECT_NEAR(sent, formula.sent(ranks), 1e-9);
        }
}

// Counts the data that all ranks send: no chunk goes back to a rank that starts with it.
TEST(Counts, SendNoRankWhatItStartsWith) {
    const auto sent = [](Collective collective, const char* algorithm, int ranks) {
        const Job job{.collective = collective, .ranks = ranks, .root = {ranks / 2}};
        const Schedule schedule = find_algorithm(collective, algorithm).build(job);
        const Counts counts = count(schedule, CollectiveSpec{collective, ranks, job.root});
        return static_cast<double>(std::accumulate(counts.sent.begin(), counts.sent.end(), 0L)) /
               counts.chunks_per_vector;
    };
    for (const int p : {2, 3, 4, 5, 8, 13, 16}) {
        SCOPED_TRACE(std::to_string(p) + " ranks");
        // A chunk from the root to each, and each chunk from its holder to all but the root.
        EXPECT_NEAR(sent(broadcast, "round-robin", p), rest(p) + (p - 1) * rest(p), 1e-9);
        // log2 P times half of the vector, and an all-gather without the root's P-1 chunks.
        if (is_power(p)) {
            EXPECT_NEAR(sent(broadcast, "butterfly", p), lg(p) / 2.0 + (p - 1) * rest(p), 1e-9);
        }
        // Every block to rank 0, and everything but its own block to each of the others.
        EXPECT_NEAR(sent(all_gather, "linear", p), rest(p) + (p - 1) * rest(p), 1e-9);
    }
}

// Returns the smallest exponent with which the radix reaches the rank count.
int digits(int ranks, int radix) {
    int exponent = 0;
    for (long reached = 1; reached < ranks; reached *= radix) ++exponent;
    return exponent;
}

// Returns the exponent of the largest power of the radix up to the rank count, and the ranks beyond
// it.
int floor_digits(int ranks, int radix) {
    const int exponent = digits(ranks, radix);
    return std::pow(radix, exponent) > ranks ? exponent - 1 : exponent;
}
int folded_on_one(int ranks, int radix) {
    const int inside = static_cast<int>(std::pow(radix, floor_digits(ranks, radix)));
    return (ranks - 1) / inside;  // (P - inside) / inside, rounded up
}

// Returns the steps of recursive multiplying, and the vectors that a rank sends: a step for each
// factor of the ranks, or a fold if a prime factor exceeds the radix.
struct Multiplying {
    int steps;
    double sent;
    auto operator<=>(const Multiplying&) const = default;
};
std::optional<Multiplying> by_factors(int ranks, int radix) {
    if (ranks == 1) return Multiplying{0, 0};
    std::optional<Multiplying> best;
    for (int factor = 2; factor <= radix; ++factor) {
        if (ranks % factor != 0) continue;
        const auto rest = by_factors(ranks / factor, radix);
        if (!rest) continue;
        const Multiplying all{rest->steps + 1, rest->sent + factor - 1};
        best = best ? std::min(*best, all) : all;
    }
    return best;
}
Multiplying multiplying(int ranks, int radix) {
    const int digits_inside = floor_digits(ranks, radix);
    return by_factors(ranks, radix)
        .value_or(Multiplying{digits_inside + 2,
                              1.0 * (radix - 1) * digits_inside + folded_on_one(ranks, radix)});
}

struct RadixFormula {
    Collective collective;
    const char* algorithm;
    int (*steps)(int ranks, int radix);
    double (*sent)(int ranks, int radix);
    bool powers_only = false;  // only for powers of the radix
};

// clang-format off
const RadixFormula radix_formulas[] = {
    {broadcast,  "tree",  digits, [](int p, int k) { return 1.0 * (k - 1) * digits(p, k); }, true},
    {reduce,     "tree",  digits, [](int, int) { return 1.0; }},
    {scatter,    "tree",  digits, [](int p, int) { return rest(p); }},
    {gather,     "tree",  digits, [](int p, int k) { return 1.0 / k * (p > 1); }, true},
    {all_reduce, "tree",  [](int p, int k) { return 2 * digits(p, k); }, [](int p, int k) { return 1.0 * (k - 1) * digits(p, k); }, true},
    {all_reduce, "butterfly", [](int p, int k) { return multiplying(p, k).steps; },
                              [](int p, int k) { return multiplying(p, k).sent; }},
    {all_reduce, "circulant", [](int p, int k) { return 2 * digits(p, k); }, [](int p, int) { return 2 * rest(p); }},
    {reduce_scatter, "circulant", digits, [](int p, int) { return rest(p); }},
    {all_gather, "circulant", digits, [](int p, int) { return rest(p); }},
    {all_gather, "bruck", digits, [](int p, int) { return rest(p); }},
    {all_to_all, "bruck", digits, [](int p, int k) { return 1.0 * (k - 1) / k * digits(p, k); }, true},
};
// clang-format on

// Returns the maximum number of receivers of a rank in one step.
int most_receivers(const Schedule& schedule) {
    std::size_t most = 0;
    for (int step = 0; step < schedule.steps(); ++step) {
        std::map<Rank, std::set<Rank>> receivers;
        schedule.visit(step, [&](const Transfer& t) {
            if (t.from != t.to) receivers[t.from].insert(t.to);
        });
        for (const auto& [from, others] : receivers) most = std::max(most, others.size());
    }
    return static_cast<int>(most);
}

TEST(Counts, OfAnyRadixEqualTheTextbook) {
    for (const RadixFormula& formula : radix_formulas)
        for (int radix : {2, 3, 4, 5, 8})
            for (int ranks : {2, 3, 4, 5, 8, 9, 13, 16, 25, 27, 33, 64}) {
                const bool is_a_power = std::pow(radix, digits(ranks, radix)) == ranks;
                if (formula.powers_only && !is_a_power) continue;
                const Job job{.collective = formula.collective,
                              .ranks = ranks,
                              .configuration = {.radix = radix}};
                const Schedule schedule =
                    find_algorithm(job.collective, formula.algorithm).build(job);
                const Counts counts = count(schedule, CollectiveSpec{job.collective, ranks});
                SCOPED_TRACE(std::string(name_of(job.collective)) + " " + formula.algorithm +
                             " with radix " + std::to_string(radix) + " on " +
                             std::to_string(ranks) + " ranks");
                EXPECT_EQ(counts.steps, formula.steps(ranks, radix));
                EXPECT_NEAR(static_cast<double>(counts.most_sent()) / counts.chunks_per_vector,
                            formula.sent(ranks, radix), 1e-9);
                EXPECT_LE(most_receivers(schedule), radix - 1);
            }
}

// Returns the levels below the root of a complete tree in which each rank has k children.
int depth(int ranks, int k) {
    int levels = 0;
    for (int reached = 1; reached < ranks; reached = reached * k + 1) ++levels;
    return levels;
}

// Returns the time at which the last rank has a message that arrives k gaps after it was sent
// (Bar-Noy, Kipnis 1992): as many ranks have it as a gap ago, and one more for each that had it k
// gaps ago.
int postal_time(int ranks, int k) {
    std::vector<int> reached{1};
    while (reached.back() < ranks)
        reached.push_back(reached.back() + (int_size(reached) < k ? 0 : reached.end()[-k]));
    return int_size(reached) - 1;
}
int postal_sends(int p, int k) { return p == 1 ? 0 : postal_time(p, k) - k + 1; }

int halvings(int ranks, int pieces) { return std::min(floor_lg(pieces), floor_lg(ranks)); }
int pat_aggregation(int p, int k) { return std::clamp((1 << lg(p)) / 2, 1, 1 << floor_lg(k)); }
int not_a_power(int p) { return is_power(p) ? 0 : 1; }

// Returns the peers of a rank that tells the ranks j k^i ahead, for all j below k, up to the last.
int spread(int p, int k) {
    int peers = 0;
    for (int width = 1; width < p; width *= k) peers += std::min(k - 1, (p - 1) / width);
    return peers;
}

// A level of a tree of prefixes has a transfer up if there are two groups of its width, and one
// down if another one follows a group of groups.
int prefix_tree_steps(int p, int k) {
    int steps = 0;
    for (int width = 1; width < p; width *= k)
        steps += (2 * width <= p ? 1 : 0) + ((k + 1) * width <= p ? 1 : 0);
    return steps;
}

// The last rank of a group sends to those after it in its own group of groups, and then, if it is
// the last one of that, down to the next one at each lower level.
int prefix_tree_sends(int p, int k) {
    int most = 0;
    for (int rank = 0; rank < p; ++rank) {
        int sends = 0, width = 1;
        for (; (rank + 1) % (k * width) == 0; width *= k)
            sends += std::min(k - 1, (p - 1 - rank) / width);
        const int digit = (rank + 1) / width % k - 1;
        most = std::max(most, sends + std::min(k - 1 - digit, (p - 1 - rank) / width));
    }
    return most;
}

// Where all vectors move on by one rank first, all but the last do one more send.
double after_shift(int p, int sends) { return p == 1 ? 0 : 1 + (p == 2 ? 0 : sends); }

// clang-format off
const RadixFormula newer_formulas[] = {
    {all_reduce,     "bine", [](int p, int) { return 2 * lg(p); },    [](int p, int) { return 2 * rest(p); }},
    {reduce_scatter, "bine", [](int p, int) { return lg(p); },        [](int p, int) { return rest(p); }},
    {all_gather,     "bine", [](int p, int) { return lg(p); },        [](int p, int) { return rest(p); }},
    {broadcast,      "bine", [](int p, int) { return lg(p); },        [](int p, int) { return 1.0 * lg(p); }},
    {reduce,         "bine", [](int p, int) { return lg(p); },        [](int p, int) { return p > 1 ? 1.0 : 0.0; }},
    {all_reduce, "partial-halving",
        [](int p, int k) { return floor_lg(p) + halvings(p, k) + 2 * not_a_power(p); },
        [](int p, int k) {
            const int whole = floor_lg(p) - halvings(p, k);
            return 2 * rest(1 << halvings(p, k)) + whole / std::exp2(halvings(p, k)) + not_a_power(p);
        }},
    {all_reduce, "dual-root", [](int p, int k) { return 2 * depth((p + 1) / 2, k) + (p > 1 ? 1 : 0); },
                              [](int p, int k) { return std::min(k, (p + 1) / 2 - 1) + (p > 1 ? 1.0 : 0.0); }},
    {broadcast, "k-ary-tree", depth,                                  [](int p, int k) { return 1.0 * std::min(k, p - 1); }},
    {reduce,    "k-ary-tree", depth,                                  [](int p, int) { return p > 1 ? 1.0 : 0.0; }},
    {broadcast, "postal", postal_sends,                               [](int p, int k) { return 1.0 * postal_sends(p, k); }},
    {reduce,    "postal", postal_sends,                               [](int p, int) { return p > 1 ? 1.0 : 0.0; }},
    {broadcast, "circulant", [](int p, int) { return lg(p); },        [](int p, int) { return 1.0 * lg(p); }},
    {reduce,    "circulant", [](int p, int) { return lg(p); },        [](int p, int) { return p > 1 ? 1.0 : 0.0; }},
    {broadcast, "scatter-ring", [](int p, int) { return lg(p) + p - 1; }, [](int p, int) { return 2 * rest(p); }},
    {all_reduce,     "trivance", [](int p, int) { return 2 * digits(p, 3); }, [](int p, int) { return 2 * rest(p); }},
    {reduce_scatter, "trivance", [](int p, int) { return digits(p, 3); },     [](int p, int) { return rest(p); }},
    {all_gather,     "trivance", [](int p, int) { return digits(p, 3); },     [](int p, int) { return rest(p); }},
    {reduce_scatter, "sparbit", [](int p, int) { return lg(p); },     [](int p, int) { return rest(p); }},
    {all_gather,     "sparbit", [](int p, int) { return lg(p); },     [](int p, int) { return rest(p); }},
    {reduce_scatter, "pat", [](int p, int k) { return floor_lg(pat_aggregation(p, k)) + (1 << lg(p)) / pat_aggregation(p, k) - 1; },
                            [](int p, int) { return rest(p); }},
    {all_gather,     "pat", [](int p, int k) { return floor_lg(pat_aggregation(p, k)) + (1 << lg(p)) / pat_aggregation(p, k) - 1; },
                            [](int p, int) { return rest(p); }},
    {barrier, "dissemination", digits,                                [](int p, int k) { return 1.0 * spread(p, k); }},
    {scan,   "doubling", digits,                                      [](int p, int k) { return 1.0 * spread(p, k); }},
    {scan,   "tree", prefix_tree_steps,                               [](int p, int k) { return 1.0 * prefix_tree_sends(p, k); }},
    {scan,   "chain", [](int p, int) { return p - 1; },               [](int p, int) { return p > 1 ? 1.0 : 0.0; }},
    {scan,   "one-shot", [](int p, int) { return p > 1 ? 1 : 0; },    [](int p, int) { return p - 1.0; }},
    {exscan, "doubling", [](int p, int k) { return p > 1 ? 1 + digits(p - 1, k) : 0; },
                         [](int p, int k) { return after_shift(p, spread(p - 1, k)); }},
    {exscan, "tree", [](int p, int k) { return p > 1 ? 1 + prefix_tree_steps(p - 1, k) : 0; },
                     [](int p, int k) { return after_shift(p, prefix_tree_sends(p - 1, k)); }},
    {exscan, "chain", [](int p, int) { return p - 1; },               [](int p, int) { return after_shift(p, 1); }},
    {exscan, "one-shot", [](int p, int) { return p > 1 ? 1 : 0; },    [](int p, int) { return p - 1.0; }},
};
// clang-format on

TEST(Counts, OfNewerAlgorithmsEqualTheirPapersAndTheyDeliver) {
    for (const RadixFormula& formula : newer_formulas)
        for (int ranks = 1; ranks <= 128; ++ranks)
            for (int radix : {2, 3, 4, 8}) {
                const Algorithm& algorithm = find_algorithm(formula.collective, formula.algorithm);
                if (radix > 2 && !algorithm.takes_radix) continue;
                const Job job{.collective = formula.collective,
                              .ranks = ranks,
                              .root = {has_root(formula.collective) ? ranks / 3 : 0},
                              .configuration = {.radix = radix}};
                if (algorithm.refuses(job)) continue;
                const Schedule schedule = algorithm.build(job);
                const CollectiveSpec spec{job.collective, ranks, job.root};
                const Counts counts = count(schedule, spec);
                SCOPED_TRACE(std::string(name_of(job.collective)) + " " + formula.algorithm +
                             " with radix " + std::to_string(radix) + " on " +
                             std::to_string(ranks) + " ranks");
                EXPECT_EQ(find_fault(schedule, spec), std::nullopt);
                EXPECT_EQ(counts.steps, formula.steps(ranks, radix));
                EXPECT_NEAR(static_cast<double>(counts.most_sent()) / counts.chunks_per_vector,
                            formula.sent(ranks, radix), 1e-9);
            }
}

// Returns the fewest hops around the rings of a grid with up to this number of dimensions.
int fewest_hops(int ranks, int dimensions) {
    if (dimensions == 1) return ranks - 1;
    int fewest = ranks - 1;
    for (int size = 2; size <= ranks; ++size)
        if (ranks % size == 0)
            fewest = std::min(fewest, size - 1 + fewest_hops(ranks / size, dimensions - 1));
    return fewest;
}

TEST(Counts, OfTheBucketAlgorithmsAreThoseOfAGrid) {
    for (const Collective collective : {all_gather, reduce_scatter, all_reduce})
        for (int ranks = 1; ranks <= 128; ++ranks)
            for (int dimensions : {2, 3, 4}) {
                const Job job{.collective = collective,
                              .ranks = ranks,
                              .configuration = {.radix = dimensions}};
                const Schedule schedule = find_algorithm(collective, "bucket").build(job);
                const CollectiveSpec spec{collective, ranks};
                const Counts counts = count(schedule, spec);
                SCOPED_TRACE(std::string(name_of(collective)) + " on " + std::to_string(ranks) +
                             " ranks in " + std::to_string(dimensions) + " dimensions");
                EXPECT_EQ(find_fault(schedule, spec), std::nullopt);
                const int passes = collective == all_reduce ? 2 : 1;
                // 72 ranks in two dimensions are 12 x 6, not 9 x 8.
                const int more = ranks == 72 && dimensions == 2 ? 1 : 0;
                EXPECT_EQ(counts.steps, passes * (fewest_hops(ranks, dimensions) + more));
                EXPECT_NEAR(static_cast<double>(counts.most_sent()) / ranks, passes * rest(ranks),
                            1e-9);
            }
}

// Each node receives each block of the others once, in ceil(log_q N) exchanges of its q ranks.
TEST(Counts, OfTheLocalityAwareBruckSendEachBlockOnceToEachNode) {
    for (int nodes = 1; nodes <= 20; ++nodes)
        for (int per_node : {2, 3, 4, 8}) {
            const int ranks = nodes * per_node;
            const Job job{.collective = all_gather,
                          .ranks = ranks,
                          .placement = Placement::in_nodes_of(ranks, per_node)};
            const Schedule schedule = find_algorithm(all_gather, "locality-bruck").build(job);
            const Counts counts = count(schedule, CollectiveSpec{all_gather, ranks});
            EXPECT_EQ(counts.steps, 1 + 2 * digits(nodes, per_node));
            std::vector<int> arrived(as_size(nodes));
            for (int step = 0; step < schedule.steps(); ++step)
                schedule.visit(step, [&](const Transfer& t) {
                    const int to = t.to.index / per_node;
                    if (t.from.index / per_node != to) at(arrived, to) += t.chunks.count;
                });
            for (const int blocks : arrived) EXPECT_EQ(blocks, (nodes - 1) * per_node);
        }
}

TEST(Refusals, OfNewerAlgorithmsNameTheRanksThatTheyNeed) {
    const auto reason = [](Collective collective, const char* algorithm, const Job& job) {
        return find_algorithm(collective, algorithm).refuses(job).value_or("");
    };
    EXPECT_NE(reason(all_reduce, "bine", {.ranks = 7}).find("not 7 ranks"), std::string::npos);
    EXPECT_EQ(reason(all_reduce, "bine", {.ranks = 6}), "");
    EXPECT_NE(reason(broadcast, "bine", {.ranks = 6}).find("not 6 ranks"), std::string::npos);
}

// At the step of digit t with radix k, ranks that have the message send it to the relative ranks
// that differ only in this digit.
TEST(Transfers, OfATreeAddADigitToTheRelativeRank) {
    for (int radix : {2, 3, 4})
        for (int ranks : {2, 9, 14, 16}) {
            const Schedule schedule = find_algorithm(broadcast, "tree")
                                          .build({.collective = broadcast,
                                                  .ranks = ranks,
                                                  .configuration = {.radix = radix}});
            std::set<int> informed{0};
            long place = 1;
            for (int step = 0; step < schedule.steps(); ++step, place *= radix)
                schedule.visit(step, [&](const Transfer& t) {
                    EXPECT_LT(t.from.index, place);
                    EXPECT_EQ((t.to.index - t.from.index) % place, 0);
                    EXPECT_LT((t.to.index - t.from.index) / place, radix);
                    EXPECT_TRUE(informed.insert(t.to.index).second);
                });
            EXPECT_EQ(informed.size(), static_cast<std::size_t>(ranks));
        }
}

// Pipelining adds one step per additional segment and no bytes.
TEST(Counts, OfPipelinedAlgorithmsGrowByOneStepPerSegment) {
    for (const Algorithm& algorithm : catalog()) {
        if (!algorithm.pipelines || algorithm.cuts_itself) continue;
        for (int ranks : {2, 3, 8, 13}) {
            Job job{.collective = algorithm.collective, .ranks = ranks};
            if (algorithm.refuses(job)) continue;
            const CollectiveSpec spec{job.collective, ranks};
            const Counts whole = count(algorithm.build(job), spec);
            job.segments = 6;
            const Counts cut = count(algorithm.build(job), spec);
            EXPECT_EQ(cut.steps, whole.steps + 5) << algorithm.name;
            EXPECT_NEAR(cut.busiest(), whole.busiest(), 1e-9) << algorithm.name;
        }
    }
}

// A rank cannot have all of n blocks earlier: the last one leaves the root after n steps, and takes
// ceil(log P) - 1 more. The root sends a block at each step.
TEST(Counts, OfTheCirculantBroadcastAreThoseOfTheBound) {
    for (int ranks = 2; ranks <= 40; ++ranks)
        for (int blocks : {1, 2, 3, 5, 8, 32}) {
            const Job job{.collective = broadcast, .ranks = ranks, .segments = blocks};
            const Counts counts = count(find_algorithm(broadcast, "circulant").build(job),
                                        CollectiveSpec{broadcast, ranks});
            EXPECT_EQ(counts.steps, blocks - 1 + lg(ranks)) << ranks << " ranks";
            EXPECT_NEAR(counts.busiest(), 1.0 * counts.steps / blocks, 1e-9) << ranks << " ranks";
        }
}

// An inner node of one tree is a leaf of the other: no rank sends more than a vector and a half
// (the rank that has a single child in both sends less), and the depth is logarithmic.
TEST(Counts, OfTheDoubleTreeSpreadTheLoad) {
    for (int ranks = 2; ranks <= 65; ++ranks) {
        const Job job{.collective = broadcast, .ranks = ranks};
        const Counts counts = count(find_algorithm(broadcast, "double-tree").build(job),
                                    CollectiveSpec{broadcast, ranks});
        EXPECT_LE(counts.busiest(), 1.0) << ranks;
        EXPECT_LE(counts.steps, lg(ranks) + 1) << ranks;
    }
}

// Returns the vectors that each node sends to other nodes.
std::vector<double> sent_by_nodes(const Schedule& schedule, const CollectiveSpec& spec,
                                  const std::vector<int>& node_of_rank) {
    const Counts counts = count(schedule, spec);
    const auto node_of = [&](Rank rank) {
        return static_cast<std::size_t>(at(node_of_rank, rank));
    };
    std::vector<double> sent(1 + static_cast<std::size_t>(*std::ranges::max_element(node_of_rank)));
    for (int step = 0; step < schedule.steps(); ++step)
        schedule.visit(step, [&](const Transfer& t) {
            if (node_of(t.from) != node_of(t.to))
                sent[node_of(t.from)] +=
                    static_cast<double>(t.chunks.count) / counts.chunks_per_vector;
        });
    return sent;
}

struct Split {
    const char* name;
    std::vector<int> node_of_rank;
    int nodes;
};

const std::vector<Split>& splits() {
    static const std::vector<Split> all{
        {"two equal nodes", {0, 0, 1, 1}, 2},
        {"four dealt nodes", {0, 1, 2, 3, 0, 1, 2, 3}, 4},
        {"three equal nodes", {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}, 3},
        {"unequal nodes", {0, 0, 0, 1, 2, 2}, 3},
        {"one-rank nodes", {0, 1, 2, 3, 4}, 5},
        {"one node", {0, 0, 0}, 1},
    };
    return all;
}

// H nodes must send at least 2(H-1)/H vectors each, as if each were one rank; none sends more, even
// with unequal nodes. The butterfly trades bytes for fewer steps.
TEST(Counts, OfHierarchicalAllReducesSendTheLeastThatNodesCan) {
    for (const Split& split : splits())
        for (const char* name : {"two-level", "three-level", "multi-rail"})
            for (int segments : {1, 4}) {
                const Job job{
                    .collective = all_reduce,
                    .ranks = static_cast<int>(split.node_of_rank.size()),
                    .segments = segments,
                    .placement = Placement::by_label(split.node_of_rank).with_islands_of(2)};
                const Schedule schedule = find_algorithm(all_reduce, name).build(job);
                for (double sent : sent_by_nodes(schedule, CollectiveSpec{all_reduce, job.ranks},
                                                 split.node_of_rank))
                    EXPECT_NEAR(sent, 2 * rest(split.nodes), 1e-9) << name << ", " << split.name;
            }
}

// Each node's blocks are sent to every other node once: (H-1)/H in and out for equal nodes.
TEST(Counts, OfHierarchicalGathersSendTheLeastThatEqualNodesCan) {
    for (const Split& split : splits())
        for (const Collective collective : {all_gather, reduce_scatter})
            for (const char* name : {"two-level", "three-level", "multi-rail"}) {
                const int ranks = static_cast<int>(split.node_of_rank.size());
                if (ranks % split.nodes != 0 || split.name == std::string("unequal nodes"))
                    continue;
                const Job job{.collective = collective,
                              .ranks = ranks,
                              .placement = Placement::by_label(split.node_of_rank)};
                const Schedule schedule = find_algorithm(collective, name).build(job);
                for (double sent :
                     sent_by_nodes(schedule, CollectiveSpec{collective, ranks}, split.node_of_rank))
                    EXPECT_NEAR(sent, rest(split.nodes), 1e-9) << name << ", " << split.name;
            }
}

// On a chain through the nodes all but the last forward the message once.
TEST(Counts, OfTheMultiRailBroadcastSendTheMessageOncePerNode) {
    for (const Split& split : splits()) {
        const Job job{.collective = broadcast,
                      .ranks = static_cast<int>(split.node_of_rank.size()),
                      .root = {1},
                      .placement = Placement::by_label(split.node_of_rank)};
        const Schedule schedule = find_algorithm(broadcast, "multi-rail").build(job);
        const auto sent =
            sent_by_nodes(schedule, CollectiveSpec{broadcast, job.ranks, {1}}, split.node_of_rank);
        EXPECT_EQ(std::ranges::count(sent, 1.0), split.nodes - 1) << split.name;
        EXPECT_EQ(std::ranges::count(sent, 0.0), 1) << split.name;
    }
}

int size_of_node(const Split& split, int node) {
    return static_cast<int>(std::ranges::count(split.node_of_rank, node));
}

// Each block for another node leaves its node once, also if nodes are unequal; the root's node
// sends all others' blocks, or each node its own to the root.
TEST(Counts, OfBlocksByNodesCrossBetweenNodesOnce) {
    for (const Split& split : splits()) {
        const int ranks = static_cast<int>(split.node_of_rank.size());
        const Placement placement = Placement::by_label(split.node_of_rank);
        const auto sent = [&](Collective collective, const char* name) {
            const Job job{
                .collective = collective, .ranks = ranks, .root = {1}, .placement = placement};
            return sent_by_nodes(find_algorithm(collective, name).build(job),
                                 CollectiveSpec{collective, ranks, {1}}, split.node_of_rank);
        };
        const int roots_node = split.node_of_rank.at(1);
        for (int node = 0; node < split.nodes; ++node) {
            const auto at_node = static_cast<std::size_t>(node);
            const double size = size_of_node(split, node), others = ranks - size;
            for (const char* name : {"two-level", "multi-rail"})
                EXPECT_NEAR(sent(all_to_all, name)[at_node], size * others / ranks, 1e-9)
                    << name << ", " << split.name;
            const bool is_roots = node == roots_node;
            EXPECT_NEAR(sent(scatter, "multi-rail")[at_node], is_roots ? others / ranks : 0, 1e-9)
                << split.name;
            EXPECT_NEAR(sent(gather, "multi-rail")[at_node], is_roots ? 0 : size / ranks, 1e-9)
                << split.name;
        }
    }
}

// One message for each ordered pair of nodes, or one for each rail of it: as many as the smallest
// node has ranks.
TEST(Counts, OfAllToAllByNodesAreOneMessagePerPairOfNodesAndRail) {
    for (const Split& split : splits()) {
        const int ranks = static_cast<int>(split.node_of_rank.size());
        int rails = ranks;
        for (int node = 0; node < split.nodes; ++node)
            rails = std::min(rails, size_of_node(split, node));
        for (const auto& [name, most] : {std::pair{"two-level", 1}, {"multi-rail", rails}}) {
            const Job job{.collective = all_to_all,
                          .ranks = ranks,
                          .placement = Placement::by_label(split.node_of_rank)};
            const Schedule schedule = find_algorithm(all_to_all, name).build(job);
            std::set<std::tuple<int, Rank, Rank>> messages;  // by step, sender and receiver
            for (int step = 0; step < schedule.steps(); ++step)
                schedule.visit(step, [&](const Transfer& t) {
                    if (at(split.node_of_rank, t.from) != at(split.node_of_rank, t.to))
                        messages.insert({step, t.from, t.to});
                });
            EXPECT_EQ(int_size(messages), most * split.nodes * (split.nodes - 1))
                << name << ", " << split.name;
        }
    }
}

// An equal share of the message leaves every rank of a node, and so every NIC.
TEST(Counts, OfTheMultiRailAllReduceSpreadWhatCrossesOverAllRanks) {
    const int per_node = 4, nodes = 3, ranks = per_node * nodes;
    const Job job{.collective = all_reduce,
                  .ranks = ranks,
                  .placement = Placement::in_nodes_of(ranks, per_node)};
    const Schedule schedule = find_algorithm(all_reduce, "multi-rail").build(job);
    std::vector<int> across(ranks);
    for (int step = 0; step < schedule.steps(); ++step)
        schedule.visit(step, [&](const Transfer& t) {
            if (t.from.index / per_node != t.to.index / per_node)
                at(across, t.from) += t.chunks.count;
        });
    for (int chunks : across)
        EXPECT_EQ(chunks * nodes * per_node, 2 * (nodes - 1) * schedule.chunks());
}

// Up and down a tree of two ranks, and one exchange for each doubling of nodes.
TEST(Counts, OfTheTwoLevelButterflyAreLogarithmicInNodes) {
    for (int nodes : {2, 4, 8, 16}) {
        const Job job{.collective = all_reduce,
                      .ranks = 2 * nodes,
                      .placement = Placement::in_nodes_of(2 * nodes, 2)};
        const Schedule schedule = find_algorithm(all_reduce, "two-level-butterfly").build(job);
        EXPECT_EQ(count(schedule, CollectiveSpec{all_reduce, job.ranks}).steps, lg(nodes) + 2);
    }
}

}  // namespace
}  // namespace tutti
