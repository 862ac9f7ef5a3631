// SPDX-License-Identifier: Apache-2.0
#include "base/stepped_list.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tutti {
namespace {

struct Place {
    int number = 0;
    int kind = 0;
    bool operator==(const Place&) const = default;
    Place after(int places) const { return {number + places, kind}; }
    int steps_to(const Place& next) const { return next.number - number; }
};

// Few values, so that runs of all lengths begin and end.
TEST(SteppedList, HasTheElementsThatWereAdded) {
    std::minstd_rand random(1);
    for (int round = 0; round < 200; ++round) {
        std::vector<Place> all;
        SteppedList<Place> list;
        for (int i = 0; i < 40; ++i) {
            all.push_back({static_cast<int>(random() % 3), static_cast<int>(random() % 8) / 7});
            list.push_back(all.back());
        }
        ASSERT_EQ(list.size(), all.size());
        for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(list[i], all[i]);
    }
}

TEST(SteppedList, GoesOnAtEqualDistances) {
    SteppedList<Place> list;
    for (const int number : {7, 7, 7, 9, 11, 13, 2, -3, 2'000'000'000, 0}) list.push_back({number});
    EXPECT_EQ(list[2].number, 7);
    EXPECT_EQ(list[5].number, 13);
    EXPECT_EQ(list[7].number, -3);
    EXPECT_EQ(list[8].number, 2'000'000'000);
    EXPECT_EQ(list[9].number, 0);
}

}  // namespace
}  // namespace tutti
