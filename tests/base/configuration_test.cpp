// SPDX-License-Identifier: Apache-2.0
#include "base/configuration.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

Knob size_of_values(const char* searched) {
    Knob knob = knobs[0];
    knob.searched = searched;
    return knob;
}

Knob number_of_values(const char* searched) {
    Knob knob = knobs[1];
    knob.searched = searched;
    return knob;
}

// A knob whose values are invalid does not compile: see the static_assert below the list.
TEST(Knob, TakesAscendingValuesWithinItsRange) {
    for (const char* searched : {"8K", "512,8K,1M,1G", "1"})
        EXPECT_TRUE(has_valid_values(size_of_values(searched))) << searched;
    for (const char* searched : {"", "8k", "8K,", ",8K", "8K,8K", "32K,8K", "8K 32K", "0", "auto"})
        EXPECT_FALSE(has_valid_values(size_of_values(searched))) << searched;
    for (const char* searched : {"2", "2,4,8", "64"})
        EXPECT_TRUE(has_valid_values(number_of_values(searched))) << searched;
    for (const char* searched : {"", "1,2", "2,65", "4,2", "2K", "2,,4", "-2"})
        EXPECT_FALSE(has_valid_values(number_of_values(searched))) << searched;
}

TEST(Knob, HasALetterInDecisionMaps) {
    EXPECT_EQ(letters_of_knobs(), "s: segment, r: radix, c: channels");
}

}  // namespace
}  // namespace tutti
