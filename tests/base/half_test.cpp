// SPDX-License-Identifier: Apache-2.0
#include "base/half.hpp"

#include <gtest/gtest.h>

namespace tutti {

// The value of a finite binary16 pattern from its definition, computed in double.
double defined_value(std::uint16_t bits) {
    const int exponent = (bits >> 10) & 0x1f;
    const int fraction = bits & 0x3ff;
    const double size =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    return (bits & 0x8000) != 0 ? -size : size;
}

TEST(Half, EveryFinitePatternHasItsDefinedValueAndComesBack) {
    for (int pattern = 0; pattern < 0x10000; ++pattern) {
        Half half;
        half.bits = static_cast<std::uint16_t>(pattern);
        if (((pattern >> 10) & 0x1f) == 0x1f) continue;
        EXPECT_EQ(static_cast<double>(static_cast<float>(half)), defined_value(half.bits));
        EXPECT_EQ(Half(static_cast<float>(half)).bits, half.bits);
    }
}

TEST(Half, RoundsHalfwayToTheEvenNeighbour) {
    for (int pattern = 0; pattern < 0x7bff; ++pattern) {
        const auto low = static_cast<std::uint16_t>(pattern);
        const auto high = static_cast<std::uint16_t>(pattern + 1);
        const auto middle = static_cast<float>((defined_value(low) + defined_value(high)) / 2);
        EXPECT_EQ(Half(middle).bits, pattern % 2 == 0 ? low : high) << pattern;
        EXPECT_EQ(Half(std::nextafter(middle, 1e9f)).bits, high) << pattern;
        EXPECT_EQ(Half(std::nextafter(middle, -1e9f)).bits, low) << pattern;
    }
}

TEST(Half, OverflowsToInfinityAndKeepsNan) {
    EXPECT_EQ(Half(65519.99f).bits, 0x7bff);
    EXPECT_EQ(Half(65520.0f).bits, 0x7c00);
    EXPECT_EQ(Half(-std::numeric_limits<float>::infinity()).bits, 0xfc00);
    EXPECT_TRUE(std::isnan(static_cast<float>(Half(std::nanf("")))));
}

TEST(BFloat16, RoundsToTheNearestTiesToEven) {
    EXPECT_EQ(BFloat16(1.0f).bits, 0x3f80);
    EXPECT_EQ(BFloat16(1.0f + 0x1p-8f).bits, 0x3f80);             // tie, even below
    EXPECT_EQ(BFloat16(1.0f + 3 * 0x1p-8f).bits, 0x3f82);         // tie, even above
    EXPECT_EQ(BFloat16(1.0f + 0x1p-8f + 0x1p-20f).bits, 0x3f81);  // just above the tie
    EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
    EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::nanf("")))));
}

}  // namespace tutti
