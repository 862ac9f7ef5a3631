// SPDX-License-Identifier: Apache-2.0
// Properties that hold for the whole catalog.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include "base/index.hpp"
#include "collectives/algorithms/catalog.hpp"
#include "collectives/schedule/count.hpp"
#include "collectives/schedule/verify.hpp"
#include "tests/base/messages.hpp"

namespace tutti {
namespace {

class EveryAlgorithm : public testing::TestWithParam<const Algorithm*> {
protected:
    const Algorithm& algorithm() const { return *GetParam(); }

    // Calls body(job) for every relevant root at this rank count.
    void for_each_root(Job job, const std::function<void(const Job&)>& body) const {
        const int roots = has_root(job.collective) ? job.ranks : 1;
        for (job.root = {0}; job.root.index < roots; ++job.root.index) body(job);
    }

    void prove_all(Job job) const {
        job.collective = algorithm().collective;
        if (algorithm().refuses(job)) return;
        for_each_root(job, [&](const Job& one) {
            const CollectiveSpec spec{one.collective, one.ranks, one.root};
            EXPECT_EQ(find_fault(build_in_order(algorithm(), one), spec), std::nullopt)
                << one.ranks << " ranks, root " << one.root.index << ", " << one.segments
                << " segments";
        });
    }
};

TEST_P(EveryAlgorithm, DeliversWhatItsCollectiveSpecifies) {
    for (int ranks = 1; ranks <= 33; ++ranks) prove_all({.ranks = ranks});
}

TEST_P(EveryAlgorithm, DeliversInSegmentsToo) {
    if (!algorithm().pipelines) return;  // ignores segments
    for (int ranks : {1, 2, 3, 4, 7, 8, 13, 16})
        for (int segments : {2, 3, 8}) prove_all({.ranks = ranks, .segments = segments});
}

TEST_P(EveryAlgorithm, DeliversWithAnyRadix) {
    if (!algorithm().takes_radix) return;  // ignores the radix
    for (int radix = 2; radix <= 9; ++radix)
        for (int ranks : {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 25, 27})
            prove_all({.ranks = ranks, .configuration = {.radix = radix}});
    prove_all({.ranks = 70, .configuration = {.radix = most_radix}});
    prove_all({.ranks = 13,
               .segments = 3,
               .configuration = {.radix = 3},
               .placement = Placement::in_nodes_of(13, 2)});
}

// Reproducibility does not depend on the radix: the algorithm defines the order of additions.
TEST_P(EveryAlgorithm, GivesAllRanksTheSameBitsWithAnyRadixIfWithTwo) {
    if (!algorithm().takes_radix || !reduces(algorithm().collective)) return;
    const auto is_same = [&](int ranks, int radix) {
        const Job job{.collective = algorithm().collective,
                      .ranks = ranks,
                      .configuration = {.radix = radix}};
        return algorithm().refuses(job) ||
               prove(algorithm().build(job), CollectiveSpec{job.collective, ranks})
                   .same_order_everywhere;
    };
    for (int ranks = 2; ranks <= 33; ++ranks)
        for (int radix = 3; radix <= 8; ++radix)
            EXPECT_EQ(is_same(ranks, radix), is_same(ranks, 2)) << ranks << ", radix " << radix;
}

std::vector<std::vector<Transfer>> transfers_of(const Schedule& schedule) {
    std::vector<std::vector<Transfer>> steps(static_cast<std::size_t>(schedule.steps()));
    for (int step = 0; step < schedule.steps(); ++step)
        schedule.visit(step,
                       [&](const Transfer& transfer) { at(steps, step).push_back(transfer); });
    return steps;
}

TEST_P(EveryAlgorithm, TakesTwoForTheDefaultRadixAndUsesOthersIfItSaysSo) {
    const auto built = [&](int radix) {
        const Job job{.collective = algorithm().collective,
                      .ranks = 16,
                      .configuration = {.radix = radix},
                      .placement = Placement::in_nodes_of(16, 1)};
        return algorithm().refuses(job) ? std::nullopt
                                        : std::optional(transfers_of(algorithm().build(job)));
    };
    if (!built(0)) return;
    EXPECT_EQ(built(2), built(0));
    EXPECT_EQ(built(4) == built(0), !algorithm().takes_radix);
}

TEST_P(EveryAlgorithm, RefusesARadixThatMultipliesNothing) {
    if (!algorithm().takes_radix) return;
    for (const int radix : {-1, 1, most_radix + 1})
        EXPECT_THROW(algorithm().build({.collective = algorithm().collective,
                                        .ranks = 4,
                                        .configuration = {.radix = radix}}),
                     Error);
}

TEST_P(EveryAlgorithm, DeliversWhateverTheNodes) {
    for (int ranks : {1, 2, 3, 4, 7, 8, 13})
        for (int per_node : {1, 2, 3, 5}) {
            prove_all({.ranks = ranks, .placement = Placement::in_nodes_of(ranks, per_node)});
            std::vector<int> dealt;  // neighbours on different nodes
            for (int rank = 0; rank < ranks; ++rank) dealt.push_back(rank % per_node);
            prove_all({.ranks = ranks, .placement = Placement::by_label(dealt)});
        }
}

TEST_P(EveryAlgorithm, DeliversOnUnequalNodesWithIslands) {
    if (!algorithm().hierarchical) return;  // ignores nodes
    const std::vector<std::vector<int>> nodes{
        {0, 0, 0, 0, 1}, {0, 1, 1, 1}, {0, 1, 1, 2, 2, 2, 2}, {2, 0, 1, 0, 0, 2, 0, 1, 0}};
    for (const auto& node_of_rank : nodes)
        for (int per_island : {1, 2, 3})
            for (int segments : {1, 3})
                prove_all(
                    {.ranks = static_cast<int>(node_of_rank.size()),
                     .segments = segments,
                     .placement = Placement::by_label(node_of_rank).with_islands_of(per_island)});
}

using Channels = std::vector<std::vector<Rank>>;

// Ranks in reverse order, and odd ranks before even ones.
Channels some_orders(int ranks) {
    std::vector<Rank> backwards, by_stride;
    for (int i = ranks - 1; i >= 0; --i) backwards.push_back({i});
    for (int first : {1, 0})
        for (int i = first; i < ranks; i += 2) by_stride.push_back({i});
    return {backwards, by_stride};
}

TEST_P(EveryAlgorithm, DeliversInAnyOrderAndInSeveralChannels) {
    for (int ranks : {1, 2, 3, 4, 7, 8}) {
        const auto orders = some_orders(ranks);
        for (const auto& channels : {Channels{orders[0]}, Channels{orders[1]}, orders,
                                     Channels{orders[1], orders[0], orders[1]}})
            for (const Placement& placement : {Placement{}, Placement::in_nodes_of(ranks, 2)})
                prove_all(
                    {.ranks = ranks, .segments = 2, .placement = placement, .order = {channels}});
    }
}

TEST_P(EveryAlgorithm, DeliversInChannelsOfItsOwn) {
    for (int ranks : {1, 2, 3, 4, 7, 8})
        for (int channels : {2, 3, 4, 7})
            for (const Placement& placement : {Placement{}, Placement::in_nodes_of(ranks, 3, 2)})
                prove_all({.ranks = ranks,
                           .segments = 3,
                           .configuration = {.radix = algorithm().takes_radix ? 3 : 0},
                           .placement = placement,
                           .order = channels_of({}, channels, ranks)});
}

TEST_P(EveryAlgorithm, NeverBeatsTheLowerBound) {
    for (int ranks : {2, 3, 4, 7, 8, 13, 16, 33}) {
        const Job job{.collective = algorithm().collective, .ranks = ranks};
        if (algorithm().refuses(job)) continue;
        const Counts counts = count(algorithm().build(job), CollectiveSpec{job.collective, ranks});
        const LowerBound bound = lower_bound(job.collective, ranks);
        EXPECT_GE(counts.busiest(), bound.busiest - 1e-9) << ranks;
        // Steps in which a rank has several peers at once count as one, so fewer are possible.
        EXPECT_GE(counts.steps, 1) << ranks;
    }
}

// A rank's plan is built from that rank's view of the schedule: it must agree with the whole.
TEST_P(EveryAlgorithm, SaysTheSameToOneRankAsToAll) {
    for (int ranks : {2, 5, 8}) {
        Job job{.collective = algorithm().collective,
                .ranks = ranks,
                .segments = 3,
                .configuration = {.radix = ranks == 5 ? 3 : 0}};
        job.placement = Placement::in_nodes_of(ranks, 3);
        if (algorithm().refuses(job)) continue;
        job.order = {some_orders(ranks)};
        const Schedule schedule = build_in_order(algorithm(), job);
        for (Rank only : all_ranks(ranks))
            for (int step = 0; step < schedule.steps(); ++step) {
                std::vector<Transfer> of_all, of_one;
                schedule.visit(step, [&](const Transfer& t) {
                    if (t.from == only || t.to == only) of_all.push_back(t);
                });
                schedule.visit(
                    step, [&](const Transfer& t) { of_one.push_back(t); }, only);
                EXPECT_EQ(of_one, of_all) << ranks << " ranks, rank " << only.index;
            }
    }
}

std::vector<const Algorithm*> whole_catalog() {
    std::vector<const Algorithm*> all;
    for (const Algorithm& row : catalog()) all.push_back(&row);
    return all;
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryAlgorithm, testing::ValuesIn(whole_catalog()),
                         [](const auto& param) {
                             std::string name = std::string(name_of(param.param->collective)) +
                                                "_" + std::string(param.param->name);
                             for (char& c : name)
                                 if (c == '-') c = '_';
                             return name;
                         });

TEST(Ring, InTwoChannelsUsesBothDirectionsOfEveryLinkAlike) {
    const int ranks = 5;
    for (const auto collective :
         {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
        const Job job{.collective = collective, .ranks = ranks, .order = channels_of({}, 2, ranks)};
        const Schedule schedule = build_in_order(find_algorithm(collective, "ring"), job);
        const int rounds = collective == Collective::all_reduce ? 2 : 1;
        EXPECT_EQ(schedule.steps(), rounds * (ranks - 1));
        std::map<std::pair<Rank, Rank>, int> chunks;
        for (const auto& step : transfers_of(schedule))
            for (const Transfer& transfer : step)
                chunks[{transfer.from, transfer.to}] += transfer.chunks.count;
        EXPECT_EQ(chunks.size(), 2U * ranks);
        for (const auto& [link, carried] : chunks)
            EXPECT_EQ(carried * ranks * 2, rounds * (ranks - 1) * schedule.chunks());
    }
}

TEST(Catalog, HasTheFourFamiliesInTheFourGreatCollectives) {
    for (auto collective : {Collective::all_reduce, Collective::all_gather, Collective::scatter,
                            Collective::broadcast})
        for (const char* family : {"ring", "tree", "butterfly", "round-robin"})
            EXPECT_NO_THROW(find_algorithm(collective, family));
}

TEST(Catalog, NamesAreUniqueWithinACollective) {
    std::set<std::pair<Collective, std::string_view>> seen;
    for (const Algorithm& row : catalog())
        EXPECT_TRUE(seen.insert({row.collective, row.name}).second);
}

TEST(Catalog, SaysWhatToTakeInsteadOfAnUnknownOrUnfitAlgorithm) {
    const auto text_of = [](Collective collective, const char* name) {
        return refusal_by([&] { find_algorithm(collective, name); });
    };
    EXPECT_NE(text_of(Collective::all_reduce, "rign").find("'ring'?"), std::string::npos);
    EXPECT_NE(text_of(Collective::scatter, "double-tree").find("cannot do scatter"),
              std::string::npos);
    const Job six{.collective = Collective::all_to_all, .ranks = 6};
    EXPECT_NE(
        find_algorithm(Collective::all_to_all, "butterfly").refuses(six)->find("power of two"),
        std::string::npos);
}

// Rows share reasons, such as a power of two, so the cure must suit the collectives of all of them.
TEST(Catalog, ARefusalNamesAlgorithmsThatDoTheJob) {
    for (const Algorithm& row : catalog())
        for (int ranks = 1; ranks <= 33; ++ranks) {
            const Job job{.collective = row.collective, .ranks = ranks};
            const std::string reason = row.refuses(job).value_or("");
            const auto cure = reason.find("; use ");
            if (cure == std::string::npos) continue;
            std::istringstream words(reason.substr(cure + std::strlen("; use ")));
            for (std::string word; words >> word;) {
                if (word == "or") continue;
                const Algorithm* named = algorithm_called(row.collective, word);
                EXPECT_TRUE(named != nullptr && !named->refuses(job))
                    << name_of(row.collective) << ' ' << row.name << ": " << reason;
            }
        }
}

// 46,341 squared exceeds 2^31: with more ranks, pairs could not be counted.
TEST(Algorithms, OfAllToAllSayUpToHowManyRanksTheyGo) {
    for (const Algorithm* algorithm : algorithms_of(Collective::all_to_all)) {
        const auto refusal = [&](int ranks) {
            return algorithm->refuses({.collective = Collective::all_to_all, .ranks = ranks});
        };
        EXPECT_EQ(refusal(1 << 15), std::nullopt) << algorithm->name;
        ASSERT_NE(refusal(1 << 16), std::nullopt) << algorithm->name;
        EXPECT_NE(refusal(1 << 16)->find("up to 46340 ranks"), std::string::npos);
        EXPECT_NE(refusal(46'341), std::nullopt) << algorithm->name;
        EXPECT_EQ(
            algorithm->build({.collective = Collective::all_to_all, .ranks = 1 << 15}).chunks(),
            1 << 30)
            << algorithm->name;
    }
}

}  // namespace
}  // namespace tutti
