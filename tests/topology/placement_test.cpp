// SPDX-License-Identifier: Apache-2.0
#include "topology/placement/placement.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

using Numbers = std::vector<std::vector<int>>;

Numbers numbers_of(const Grouping& groups) {
    Numbers numbers;
    for (const auto& group : groups) {
        numbers.emplace_back();
        for (const Rank rank : group) numbers.back().push_back(rank.index);
    }
    return numbers;
}

TEST(Placement, WithOneLevelHasEachNodeAsItsIsland) {
    for (const Placement& placement :
         {Placement::one_node(3), Placement::in_nodes_of(5, 2), Placement::by_label({7, 1, 7})})
        EXPECT_EQ(placement.islands(), placement.nodes());
}

TEST(Placement, DealsRanksToIslandsInsideTheirNode) {
    const Placement placement = Placement::in_nodes_of(10, 5, 2);
    EXPECT_EQ(numbers_of(placement.nodes()), (Numbers{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}}));
    EXPECT_EQ(numbers_of(placement.islands()), (Numbers{{0, 1}, {2, 3}, {4}, {5, 6}, {7, 8}, {9}}));
}

TEST(Placement, TakesEqualIslandLabelsOfTwoNodesForTwoIslands) {
    const Placement placement = Placement::by_labels({0, 1, 0, 1, 0}, {0, 0, 1, 0, 0});
    EXPECT_EQ(numbers_of(placement.nodes()), (Numbers{{0, 2, 4}, {1, 3}}));
    EXPECT_EQ(numbers_of(placement.islands()), (Numbers{{0, 4}, {1, 3}, {2}}));
}

TEST(Placement, CanHaveItsNodesCutIntoIslandsWhateverTheirRanks) {
    const Placement dealt = Placement::by_label({0, 1, 0, 1, 0, 1}).with_islands_of(2);
    EXPECT_EQ(numbers_of(dealt.islands()), (Numbers{{0, 2}, {1, 3}, {4}, {5}}));
}

TEST(Placement, StaysTheSameUnderOtherNames) {
    const Placement placement = Placement::by_labels({0, 1, 0, 1}, {0, 0, 1, 0});
    const Placement renamed = placement.renamed({{3}, {2}, {1}, {0}});
    EXPECT_EQ(numbers_of(renamed.nodes()), (Numbers{{0, 2}, {1, 3}}));
    EXPECT_EQ(numbers_of(renamed.islands()), (Numbers{{0, 2}, {1}, {3}}));
}

TEST(Placement, GoesWithTheRanksOfAGroup) {
    const Placement placement = Placement::by_labels({0, 0, 1, 2}, {0, 1, 0, 0});
    const Placement group = placement.renamed({{2}, {0}, {1}});  // rank 2 becomes the first
    EXPECT_EQ(numbers_of(group.nodes()), (Numbers{{0}, {1, 2}}));
    EXPECT_EQ(numbers_of(group.islands()), (Numbers{{0}, {1}, {2}}));
}

// The host, package and cache of each rank; cache 0 of one package is not cache 0 of the other.
Placement of_three_levels() {
    return Placement::of_levels(8, {{Level::host, {0, 0, 0, 0, 0, 0, 1, 1}},
                                    {Level::package, {0, 0, 0, 1, 1, 1, 0, 0}},
                                    {Level::cache, {0, 0, 1, 0, 1, 0, 0, 0}}});
}

TEST(Placement, DividesEachLevelByTheNextSmallerOne) {
    const Placement placement = of_three_levels();
    ASSERT_EQ(placement.levels().size(), 3U);
    EXPECT_EQ(numbers_of(placement.nodes()), (Numbers{{0, 1, 2, 3, 4, 5}, {6, 7}}));
    EXPECT_EQ(numbers_of(placement.groups(Level::package)),
              (Numbers{{0, 1, 2}, {3, 4, 5}, {6, 7}}));
    EXPECT_EQ(numbers_of(placement.groups(Level::cache)),
              (Numbers{{0, 1}, {2}, {3, 5}, {4}, {6, 7}}));
}

TEST(Placement, TakesTheNextLargerLevelForAnUnknownOne) {
    const Placement placement = of_three_levels();
    EXPECT_EQ(placement.islands(), placement.groups(Level::package));
    EXPECT_TRUE(placement.groups(Level::rack).empty());
    const Placement caches = Placement::of_levels(4, {{Level::cache, {0, 0, 1, 1}}});
    EXPECT_EQ(numbers_of(caches.nodes()), (Numbers{{0, 1, 2, 3}}));
    EXPECT_EQ(numbers_of(caches.islands()), (Numbers{{0, 1, 2, 3}}));
}

TEST(Placement, KeepsAllLevelsWhenRanksAreRenumbered) {
    const Placement renamed = of_three_levels().renamed({{7}, {5}, {3}, {4}, {6}});
    EXPECT_EQ(numbers_of(renamed.nodes()), (Numbers{{0, 4}, {1, 2, 3}}));
    EXPECT_EQ(numbers_of(renamed.groups(Level::cache)), (Numbers{{0, 4}, {1, 2}, {3}}));
}

TEST(Placement, FillsARegularTreeWithNeighbours) {
    const PartCount parts[] = {{Level::rack, 2}, {Level::host, 2}, {Level::numa, 3}};
    const Placement placement = Placement::in_parts(parts, 2);
    EXPECT_EQ(placement.groups(Level::rack).size(), 2U);
    EXPECT_EQ(numbers_of(placement.nodes()), (Numbers{{0, 1, 2, 3, 4, 5},
                                                      {6, 7, 8, 9, 10, 11},
                                                      {12, 13, 14, 15, 16, 17},
                                                      {18, 19, 20, 21, 22, 23}}));
    EXPECT_EQ(placement.islands().size(), 12U);
    EXPECT_EQ(numbers_of(placement.islands()).back(), (std::vector{22, 23}));
}

// Islands of a given size replace what a node had inside.
TEST(Placement, DividesNodesIntoIslandsWhateverTheirOtherLevels) {
    const Placement placement = of_three_levels().with_islands_of(4);
    EXPECT_EQ(numbers_of(placement.islands()), (Numbers{{0, 1, 2, 3}, {4, 5}, {6, 7}}));
    EXPECT_EQ(placement.groups(Level::cache), placement.islands());
}

}  // namespace
}  // namespace tutti
