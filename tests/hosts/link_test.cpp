// SPDX-License-Identifier: Apache-2.0
#include "link.hpp"

#include <gtest/gtest.h>

namespace tutti::hosts {
namespace {

constexpr Link gigabit{
    .bits_per_second = 1e9, .delay_ns = 0, .queue_bytes = 10'000};  // 8 ns a byte

TEST(Link, takes_a_frame_for_as_long_as_its_bytes_last) {
    Link link = gigabit;
    std::int64_t first = 0;
    EXPECT_EQ(link.take(100, 100, 1500, 1500, first), 100 + 12'000);
    EXPECT_EQ(first, 100 + 12'000);
}

TEST(Link, sends_one_frame_after_the_other) {
    Link link = gigabit;
    std::int64_t first = 0;
    link.take(0, 0, 1500, 1500, first);
    EXPECT_EQ(link.wait(2'000), 10'000);
    EXPECT_EQ(link.take(2'000, 2'000, 1000, 1500, first), 20'000);
    EXPECT_EQ(link.take(50'000, 50'000, 1000, 1500, first), 58'000);  // idle in between
}

TEST(Link, lets_a_burst_through_while_it_still_comes) {
    Link up = gigabit, down = gigabit;
    std::int64_t first = 0, ignored = 0;
    const std::int64_t last = up.take(0, 0, 15'000, 1500, first);
    EXPECT_EQ(first, 12'000);
    EXPECT_EQ(down.take(first, last, 15'000, 1500, ignored), 120'000 + 12'000);  // one frame later
}

TEST(Link, waits_for_the_end_of_a_burst_from_a_slower_one) {
    Link slow{.bits_per_second = 1e8}, fast = gigabit;
    std::int64_t first = 0, ignored = 0;
    const std::int64_t last = slow.take(0, 0, 15'000, 1500, first);
    EXPECT_EQ(fast.take(first, last, 15'000, 1500, ignored), 1'200'000 + 12'000);
}

TEST(Link, is_full_when_more_waits_than_its_queue_holds) {
    Link link = gigabit;
    std::int64_t first = 0;
    link.take(0, 0, 10'000, 1500, first);
    EXPECT_FALSE(link.is_full(0));
    link.take(0, 0, 1, 1500, first);
    EXPECT_TRUE(link.is_full(0));
    EXPECT_FALSE(link.is_full(1'000));
}

TEST(Link, without_a_rate_takes_no_time) {
    Link link;
    std::int64_t first = 0;
    EXPECT_EQ(link.take(5, 5, 1'000'000, 1500, first), 5);
    EXPECT_FALSE(link.is_full(5));
}

}  // namespace
}  // namespace tutti::hosts
