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

}  // namespace
}  // namespace tutti
