// SPDX-License-Identifier: Apache-2.0
// The scalar set, the reference for all others, compared with formulas.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/sets.hpp"
#include "tests/kernels/test_data.hpp"

namespace tutti {

template <class Element>
std::vector<Element> reduced(DataType type, Op op,
                             const std::vector<std::vector<Element>>& sources) {
    std::vector<Memory> memories;
    std::vector<const std::byte*> starts;
    for (const auto& source : sources) memories.push_back(memory_of(source));
    for (const auto& memory : memories) starts.push_back(memory.data());
    Memory out(memories[0].size());
    std::byte* const out_start = out.data();
    kernel_sets().back().find(type, op, Stores::cached)(&out_start, 1, starts.data(), starts.size(),
                                                        sources[0].size());
    return elements_of<Element>(out);
}

template <class Element>
std::vector<Element> divided(DataType type, const std::vector<Element>& data,
                             std::int64_t divisor) {
    Memory memory = memory_of(data);
    kernel_sets().back().find_divide(type)(memory.data(), data.size(), divisor);
    return elements_of<Element>(memory);
}

bool is_integer(DataType type) { return type < DataType::fp8_e4m3; }

TEST(Scalar, IsTheLastSetAndHasEveryTypeAndOperation) {
    const KernelSet& set = kernel_sets().back();
    EXPECT_EQ(set.name, "scalar");
    EXPECT_TRUE(set.runs_here());
    for (DataType type : all_data_types()) {
        EXPECT_NE(set.find_divide(type), nullptr);
        for (Op op : all_ops()) EXPECT_NE(set.find(type, op, Stores::cached), nullptr);
    }
}

// Source s holds (s+1)(i+1): k of them add up to (i+1)k(k+1)/2 and multiply to (i+1)^k k!, both
// truncated to the bits of the type, like unsigned 64-bit numbers.
TEST(Scalar, IntegersWrapRound) {
    constexpr std::uint64_t sources = 7, elements = 300;
    for (DataType type : all_data_types()) {
        if (!is_integer(type)) continue;
        with_element(type, [&](auto zero) {
            using Element = decltype(zero);
            if constexpr (!is_float<Element>) {
                std::vector<std::vector<Element>> data(sources);
                for (std::uint64_t s = 0; s < sources; ++s)
                    for (std::uint64_t i = 0; i < elements; ++i)
                        data[s].push_back(static_cast<Element>((s + 1) * (i + 1)));
                const auto sums = reduced(type, Op::sum, data);
                const auto products = reduced(type, Op::prod, data);
                for (std::uint64_t i = 0; i < elements; ++i) {
                    std::uint64_t product = 1;
                    for (std::uint64_t s = 0; s < sources; ++s) product *= (s + 1) * (i + 1);
                    EXPECT_EQ(sums[i], static_cast<Element>((i + 1) * sources * (sources + 1) / 2));
                    EXPECT_EQ(products[i], static_cast<Element>(product));
                }
            }
        });
    }
}

TEST(Scalar, TheLargestShortSquaredIsOne) {
    const std::vector<std::uint16_t> largest{0xffff};
    EXPECT_EQ(reduced<std::uint16_t>(DataType::uint16, Op::prod, {largest, largest})[0], 1);
    EXPECT_EQ(reduced<std::int16_t>(DataType::int16, Op::prod, {{-32768}, {-1}})[0], -32768);
}

TEST(Scalar, IntegersCompareWithTheirSign) {
    EXPECT_EQ(reduced<std::int8_t>(DataType::int8, Op::min, {{5}, {-7}, {6}})[0], -7);
    EXPECT_EQ(reduced<std::uint8_t>(DataType::uint8, Op::min, {{5}, {249}, {6}})[0], 5);
    EXPECT_EQ(reduced<std::int64_t>(DataType::int64, Op::max, {{-5}, {-7}, {-6}})[0], -5);
    EXPECT_EQ(reduced<std::uint64_t>(DataType::uint64, Op::max, {{5}, {~0ull}, {6}})[0], ~0ull);
}

// The sum and product of two floats are exact in double, or round there without harm: rounding them
// once more gives the nearest float.
TEST(Scalar, FloatsAreTheNearestToTheExactResult) {
    std::mt19937_64 random(4);
    std::vector<float> a, b;
    for (int i = 0; i < 10000; ++i) {
        a.push_back(random_element<float>(random));
        b.push_back(random_element<float>(random));
    }
    const auto sums = reduced<float>(DataType::float32, Op::sum, {a, b});
    const auto products = reduced<float>(DataType::float32, Op::prod, {a, b});
    for (std::size_t i = 0; i < a.size(); ++i) {
        const auto sum = static_cast<float>(static_cast<double>(a[i]) + b[i]);
        const auto product = static_cast<float>(static_cast<double>(a[i]) * b[i]);
        EXPECT_TRUE(sums[i] == sum || std::isnan(sum)) << a[i] << " + " << b[i];
        EXPECT_TRUE(products[i] == product || std::isnan(product)) << a[i] << " * " << b[i];
    }
}

TEST(Scalar, AddsFromTheFirstSourceToTheLast) {
    EXPECT_EQ(reduced<double>(DataType::float64, Op::sum, {{1e17}, {-1e17}, {1}})[0], 1.0);
    EXPECT_EQ(reduced<double>(DataType::float64, Op::sum, {{1}, {1e17}, {-1e17}})[0], 0.0);
}

// 2048 + 1 is a tie in half, as 256 + 1 is in bfloat16: with rounding at each step, the ones would
// be lost.
TEST(Scalar, NarrowFloatsAreRoundedOnceAtTheEnd) {
    const std::vector<Half> one{Half(1.0f)};
    const auto half = reduced<Half>(DataType::half, Op::sum, {{Half(2048.0f)}, one, one});
    EXPECT_EQ(static_cast<float>(half[0]), 2050.0f);
    const std::vector<BFloat16> unit{BFloat16(1.0f)};
    const auto bfloat =
        reduced<BFloat16>(DataType::bfloat16, Op::sum, {{BFloat16(256.0f)}, unit, unit});
    EXPECT_EQ(static_cast<float>(bfloat[0]), 258.0f);
}

// 16 + 1 and 16 + 1 + 1: between 16 and its neighbour 18 in E4M3, and on it.
TEST(Scalar, Fp8IsRoundedOnceAndStaysFinite) {
    const std::vector<Fp8E4M3> one{Fp8E4M3(1.0f)}, sixteen{Fp8E4M3(16.0f)};
    const auto sum = [](const auto&... sources) {
        return static_cast<float>(reduced<Fp8E4M3>(DataType::fp8_e4m3, Op::sum, {sources...})[0]);
    };
    EXPECT_EQ(sum(sixteen, one), 16.0f);
    EXPECT_EQ(sum(sixteen, one, one), 18.0f);
    const std::vector<Fp8E4M3> largest{Fp8E4M3(448.0f)};
    EXPECT_EQ(sum(largest, largest), 448.0f);
    const std::vector<Fp8E5M2> huge{Fp8E5M2(-57344.0f)};
    const auto product = reduced<Fp8E5M2>(DataType::fp8_e5m2, Op::prod, {huge, huge, huge});
    EXPECT_EQ(static_cast<float>(product[0]), -57344.0f);
}

TEST(Scalar, AMaximumOfFp8KeepsAnInfinity) {
    Fp8E5M2 infinity;
    infinity.bits = 0x7c;
    const auto largest =
        reduced<Fp8E5M2>(DataType::fp8_e5m2, Op::max, {{Fp8E5M2(1.0f)}, {infinity}});
    EXPECT_EQ(largest[0].bits, infinity.bits);
}

TEST(Scalar, AMinimumIsTheSameWhicheverSourceComesFirst) {
    const float nan = std::nanf("");
    for (Op op : {Op::min, Op::max}) {
        const auto result =
            reduced<float>(DataType::float32, op,
                           {{1.0f, nan, 0.0f, -0.0f, -0.0f}, {nan, 1.0f, -0.0f, 0.0f, -0.0f}});
        EXPECT_TRUE(std::isnan(result[0]));
        EXPECT_TRUE(std::isnan(result[1]));
        EXPECT_EQ(std::signbit(result[2]), op == Op::min);
        EXPECT_EQ(std::signbit(result[3]), op == Op::min);
        EXPECT_TRUE(std::signbit(result[4]));
    }
}

TEST(Scalar, OneSourceIsCopiedBitForBit) {
    std::vector<Half> every_pattern(0x10000);
    for (std::size_t i = 0; i < every_pattern.size(); ++i)
        every_pattern[i].bits = static_cast<std::uint16_t>(i);
    const auto copy = reduced<Half>(DataType::half, Op::sum, {every_pattern});
    for (std::size_t i = 0; i < copy.size(); ++i) EXPECT_EQ(copy[i].bits, i);
}

TEST(Scalar, DividesIntegersTowardsZero) {
    EXPECT_EQ(divided<std::int8_t>(DataType::int8, {7, -7, -128, 127}, 2),
              (std::vector<std::int8_t>{3, -3, -64, 63}));
    EXPECT_EQ(divided<std::int8_t>(DataType::int8, {127, -128}, 300),
              (std::vector<std::int8_t>{0, 0}));
    EXPECT_EQ(divided<std::uint64_t>(DataType::uint64, {~0ull}, 2)[0], ~0ull / 2);
}

TEST(Scalar, DividesFloatsToTheNearest) {
    EXPECT_EQ(divided<float>(DataType::float32, {1.0f}, 3)[0], 1.0f / 3.0f);
    EXPECT_EQ(divided<double>(DataType::float64, {1.0}, 3)[0], 1.0 / 3.0);
    EXPECT_EQ(divided<Half>(DataType::half, {Half(1.0f)}, 3)[0].bits, Half(1.0f / 3.0f).bits);
    EXPECT_EQ(divided<BFloat16>(DataType::bfloat16, {BFloat16(1.0f)}, 3)[0].bits,
              BFloat16(1.0f / 3.0f).bits);
    EXPECT_EQ(divided<Fp8E4M3>(DataType::fp8_e4m3, {Fp8E4M3(1.0f)}, 3)[0].bits,
              Fp8E4M3(1.0f / 3.0f).bits);
    EXPECT_EQ(divided<Fp8E5M2>(DataType::fp8_e5m2, {Fp8E5M2(1.0f)}, 3)[0].bits,
              Fp8E5M2(1.0f / 3.0f).bits);
}

}  // namespace tutti
