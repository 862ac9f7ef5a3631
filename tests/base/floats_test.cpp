// SPDX-License-Identifier: Apache-2.0
#include "base/floats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tutti {

/// The definition of a format, to compute the value of each pattern in double.
struct Definition {
    int exponent_bits, bias, largest;
};
constexpr Definition e4m3{4, 7, 0x7e}, e5m2{5, 15, 0x7b};

template <class Float>
constexpr Definition definition_of = std::is_same_v<Float, Fp8E4M3> ? e4m3 : e5m2;

double defined_value(const Definition& format, int size) {
    const int fraction_bits = 7 - format.exponent_bits;
    const int exponent = size >> fraction_bits;
    const int fraction = size & ((1 << fraction_bits) - 1);
    const int whole = 1 << fraction_bits;
    return exponent == 0 ? std::ldexp(fraction, 1 - format.bias - fraction_bits)
                         : std::ldexp(whole + fraction, exponent - format.bias - fraction_bits);
}

template <class Float>
Float of_bits(int bits) {
    Float number;
    number.bits = static_cast<std::uint8_t>(bits);
    return number;
}

template <class Float>
class Fp8Test : public testing::Test {};
using Formats = testing::Types<Fp8E4M3, Fp8E5M2>;
TYPED_TEST_SUITE(Fp8Test, Formats);

TYPED_TEST(Fp8Test, EveryFinitePatternHasItsDefinedValueAndComesBack) {
    constexpr Definition format = definition_of<TypeParam>;
    for (int size = 0; size <= format.largest; ++size)
        for (int sign : {0, 0x80}) {
            const auto number = static_cast<float>(of_bits<TypeParam>(sign | size));
            EXPECT_EQ(std::fabs(number), defined_value(format, size)) << size;
            EXPECT_EQ(std::signbit(number), sign != 0);
            EXPECT_EQ(TypeParam(number).bits, sign | size);
        }
}

TYPED_TEST(Fp8Test, PatternsBehindTheLargestAreInfinityOrNan) {
    constexpr Definition format = definition_of<TypeParam>;
    for (int size = format.largest + 1; size < 0x80; ++size)
        for (int sign : {0, 0x80}) {
            const auto number = static_cast<float>(of_bits<TypeParam>(sign | size));
            const bool infinite = format.exponent_bits == 5 && size == 0x7c;
            EXPECT_EQ(std::isinf(number), infinite) << size;
            EXPECT_EQ(std::isnan(number), !infinite) << size;
            EXPECT_EQ(std::signbit(number), sign != 0);
        }
}

TYPED_TEST(Fp8Test, RoundsHalfwayToTheEvenNeighbour) {
    constexpr Definition format = definition_of<TypeParam>;
    for (int low = 0; low < format.largest; ++low) {
        const auto middle =
            static_cast<float>((defined_value(format, low) + defined_value(format, low + 1)) / 2);
        EXPECT_EQ(TypeParam(middle).bits, low % 2 == 0 ? low : low + 1) << low;
        EXPECT_EQ(TypeParam(std::nextafter(middle, 1e9f)).bits, low + 1) << low;
        EXPECT_EQ(TypeParam(std::nextafter(middle, -1e9f)).bits, low) << low;
        EXPECT_EQ(TypeParam(-middle).bits, 0x80 | (low % 2 == 0 ? low : low + 1)) << low;
    }
}

TYPED_TEST(Fp8Test, WhatIsTooLargeBecomesTheLargestAndANanStays) {
    constexpr Definition format = definition_of<TypeParam>;
    using Limits = std::numeric_limits<float>;
    const auto largest = static_cast<float>(defined_value(format, format.largest));
    EXPECT_EQ(largest, format.exponent_bits == 4 ? 448.0f : 57344.0f);
    for (float too_large :
         {std::nextafter(largest, 1e9f), 2 * largest, Limits::max(), Limits::infinity()}) {
        EXPECT_EQ(TypeParam(too_large).bits, format.largest) << too_large;
        EXPECT_EQ(TypeParam(-too_large).bits, 0x80 | format.largest) << too_large;
    }
    EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(std::nanf("")))));
}

TYPED_TEST(Fp8Test, WhatIsTooSmallBecomesZeroWithItsSign) {
    EXPECT_EQ(TypeParam(std::numeric_limits<float>::denorm_min()).bits, 0);
    EXPECT_EQ(TypeParam(-0.0f).bits, 0x80);
}

TEST(Fp8, IsCastInConstantExpressions) {
    static_assert(Fp8E4M3(1.0f).bits == 0x38);
    static_assert(Fp8E5M2(1.0f).bits == 0x3c);
    static_assert(static_cast<float>(Fp8E4M3(-0.017f)) == -0.017578125f);
}

// Returns the value of a finite binary16 pattern by its definition, in double.
double defined_half(std::uint16_t bits) {
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
        EXPECT_EQ(static_cast<double>(static_cast<float>(half)), defined_half(half.bits));
        EXPECT_EQ(Half(static_cast<float>(half)).bits, half.bits);
    }
}

TEST(Half, RoundsHalfwayToTheEvenNeighbour) {
    for (int pattern = 0; pattern < 0x7bff; ++pattern) {
        const auto low = static_cast<std::uint16_t>(pattern);
        const auto high = static_cast<std::uint16_t>(pattern + 1);
        const auto middle = static_cast<float>((defined_half(low) + defined_half(high)) / 2);
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
