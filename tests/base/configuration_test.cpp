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
    const std::string letters = letters_of_knobs();
    EXPECT_TRUE(letters.starts_with("s: segment, r: radix, c: channels, ")) << letters;
    EXPECT_TRUE(letters.ends_with(", l=: levels, a=: level-algorithms")) << letters;
}

const Knob& knob_called(std::string_view name) {
    return *std::ranges::find(knobs, name, [](const Knob& knob) { return knob.name; });
}

// A set has bits in the order of its words, a list a word's number in each four bits.
TEST(Knob, MayHaveWordsForValues) {
    const Knob &levels = knob_called("levels"), &algorithms = knob_called("level-algorithms");
    EXPECT_EQ(levels.value_of_words("cache"), 1);
    EXPECT_EQ(levels.value_of_words("host+cache"), 8 + 1);
    EXPECT_EQ(algorithms.value_of_words("tree"), 1);
    EXPECT_EQ(algorithms.value_of_words("multi-rail+one-shot+tree"), 5 + 16 * 4 + 256 * 1);
    for (const char* unknown : {"", "cahce", "host+", "+host", "host,cache", "ring"})
        EXPECT_EQ(levels.value_of_words(unknown), std::nullopt) << unknown;
    EXPECT_EQ(algorithms.value_of_words("tree+tree+tree+tree+tree+tree+tree+tree"), std::nullopt);
    Configuration one{.algorithm = "levels", .transport = "shm", .levels = 9};
    one.level_algorithms = 5 + 16 * 4;
    EXPECT_EQ(to_string(one), "levels[l=cache+host,a=multi-rail+one-shot]/shm");
    EXPECT_EQ(levels.default_text(), "auto");
    EXPECT_EQ(levels.text_of({}), "auto");
}

}  // namespace
}  // namespace tutti
