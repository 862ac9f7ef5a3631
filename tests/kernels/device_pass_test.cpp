// SPDX-License-Identifier: Apache-2.0
// The GPU passes, built by the host's compiler: every thread's part in turn, compared with the
// scalar
// kernels. Everything but the instructions themselves is the code of the GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/index.hpp"
#include "kernels/cuda/cast.cuh"
#include "kernels/cuda/combine.cuh"
#include "kernels/sets.hpp"
#include "tests/kernels/same_numbers.hpp"
#include "tests/kernels/test_data.hpp"

namespace tutti::device {

constexpr std::size_t most_sources = 11, most_outs = 3, most_count = 600,
                      slot = most_count * 8 + 96;
constexpr std::byte guard{0xa5};

/// Slots of memory between guards, each with any skew from a multiple of 16.
struct Slots {
    alignas(16) std::byte memory[(most_sources + most_outs) * slot];

    Slots() { std::ranges::fill(memory, guard); }
    std::byte* at(std::size_t which, std::size_t skew) { return memory + which * slot + 32 + skew; }
    bool operator==(const Slots& other) const { return std::ranges::equal(memory, other.memory); }
};

template <class Pass>
void by_threads(std::int64_t threads, Pass pass) {
    for (std::int64_t thread = 0; thread < threads; ++thread) pass(thread, threads);
}

/// Calls action.operator()<op>().
template <class Action>
void with_operation(Op op, Action action) {
    switch (op) {
        case Op::sum:
            return action.template operator()<Op::sum>();
        case Op::prod:
            return action.template operator()<Op::prod>();
        case Op::min:
            return action.template operator()<Op::min>();
        case Op::max:
            return action.template operator()<Op::max>();
        case Op::avg:
            return action.template operator()<Op::avg>();
    }
}

/// Like with_element, only for the types below: each costs the compiler seconds.
template <class Action>
void with_tested_element(DataType type, Action action) {
    switch (type) {
        case DataType::int8:
            return action(std::int8_t{});
        case DataType::uint16:
            return action(std::uint16_t{});
        case DataType::int64:
            return action(std::int64_t{});
        case DataType::half:
            return action(Half{});
        case DataType::bfloat16:
            return action(BFloat16{});
        case DataType::fp8_e4m3:
            return action(Fp8E4M3{});
        case DataType::fp8_e5m2:
            return action(Fp8E5M2{});
        case DataType::float32:
            return action(float{});
        case DataType::float64:
            return action(double{});
        default:
            FAIL() << "not among the tested types";
    }
}

struct Layout {
    std::size_t sources, outs, count;
    std::vector<std::size_t> skews;  // first the sources, then the outs
    bool in_place;                   // the first out is the last source
    int divisor;
    std::int64_t threads;
};

class DevicePass : public testing::TestWithParam<DataType> {
protected:
    template <class Element, Op op>
    static void expect_as_scalar(const Layout& layout, const std::vector<Memory>& data) {
        const DataType type = GetParam();
        const std::size_t bytes = layout.count * sizeof(Element);
        auto slots = std::make_unique<Slots>();
        std::vector<const std::byte*> sources, plain;
        std::vector<std::byte*> outs;
        for (std::size_t s = 0; s < layout.sources; ++s) {
            std::byte* const place = slots->at(s, layout.skews[s]);
            std::copy_n(data[s].begin(), bytes, place);
            sources.push_back(place);
            plain.push_back(data[s].data());
        }
        for (std::size_t o = 0; o < layout.outs; ++o)
            outs.push_back(slots->at(most_sources + o, layout.skews[layout.sources + o]));
        if (layout.in_place) outs[0] = const_cast<std::byte*>(sources.back());

        Memory expected(bytes);
        std::byte* const result = expected.data();
        const KernelSet& scalar = kernel_sets().back();
        scalar.find(type, op, Stores::cached)(&result, 1, plain.data(), plain.size(), layout.count);
        if (op == Op::avg) scalar.find_divide(type)(result, layout.count, layout.divisor);
        const auto before = std::make_unique<Slots>(*slots);

        by_threads(layout.threads, [&](std::int64_t thread, std::int64_t threads) {
            combine<Element, op>({sources.data(), int_size(sources), outs.data(), int_size(outs),
                                  static_cast<std::int64_t>(layout.count), layout.divisor},
                                 thread, threads);
        });
        for (std::byte* out : outs) {
            EXPECT_TRUE(same_numbers(type, out, expected.data(), layout.count));
            std::copy_n(before->memory + (out - slots->memory), bytes, out);
        }
        EXPECT_TRUE(*slots == *before) << "bytes outside the outs were touched";
    }
};

TEST_P(DevicePass, CombinesAsTheScalarKernelsDo) {
    with_tested_element(GetParam(), [](auto zero) {
        using Element = decltype(zero);
        std::mt19937_64 random(11);
        std::vector<Memory> data;
        for (std::size_t s = 0; s < most_sources; ++s)
            data.push_back(filled_memory(GetParam(), most_count, [&](auto each) {
                return random_element<decltype(each)>(random);
            }));
        for (Op op : all_ops())
            for (std::size_t i = 0; i < 11 * 16 * 2; ++i) {  // every number of sources at each skew
                const bool alike = i % 2 == 0;
                Layout layout{.sources = 1 + i / 2 % most_sources,
                              .outs = 1 + random() % most_outs,
                              .count = i % 3 == 0 ? random() % 40 : random() % (most_count + 1),
                              .skews = {},
                              .in_place = random() % 3 == 0,
                              .divisor = static_cast<int>(1 + random() % 300),
                              .threads = static_cast<std::int64_t>(1 + random() % 40)};
                for (std::size_t o = 0; o < layout.sources + layout.outs; ++o)
                    layout.skews.push_back(alike ? i / 22 : random() % 16);
                with_operation(op, [&]<Op operation>() {
                    expect_as_scalar<Element, operation>(layout, data);
                });
                ASSERT_FALSE(HasFailure())
                    << name_of(op) << " of " << layout.sources << ", " << layout.count
                    << " elements, " << layout.threads << " threads, skew " << layout.skews[0];
            }
    });
}

TEST_P(DevicePass, DividesInPlace) {
    with_tested_element(GetParam(), [](auto zero) {
        using Element = decltype(zero);
        std::mt19937_64 random(12);
        for (std::size_t skew = 0; skew < 16; ++skew)
            for (std::size_t count : {0, 1, 5, 64, 333}) {
                const Memory data = filled_memory(GetParam(), count, [&](auto each) {
                    return random_element<decltype(each)>(random);
                });
                auto slots = std::make_unique<Slots>();
                std::ranges::copy(data, slots->at(0, skew));
                Memory expected = data;
                kernel_sets().back().find_divide(GetParam())(expected.data(), count, 7);
                by_threads(5, [&](std::int64_t thread, std::int64_t threads) {
                    divide<Element>(slots->at(0, skew), static_cast<std::int64_t>(count), 7, thread,
                                    threads);
                });
                ASSERT_TRUE(same_numbers(GetParam(), slots->at(0, skew), expected.data(), count));
            }
    });
}

// One kernel for each method of storing and computing: the others differ in a sign or a width.
INSTANTIATE_TEST_SUITE_P(Types, DevicePass,
                         testing::Values(DataType::int8, DataType::uint16, DataType::int64,
                                         DataType::half, DataType::bfloat16, DataType::fp8_e4m3,
                                         DataType::fp8_e5m2, DataType::float32, DataType::float64),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

template <class Narrow>
class DeviceCast : public testing::Test {};
using NarrowTypes = testing::Types<Half, BFloat16, Fp8E4M3, Fp8E5M2>;
TYPED_TEST_SUITE(DeviceCast, NarrowTypes);

TYPED_TEST(DeviceCast, CastsEveryElementToItsFloatAndBackAtAnyAlignment) {
    std::mt19937_64 random(13);
    constexpr auto type = sizeof(TypeParam) == 1            ? DataType::fp8_e4m3
                          : std::is_same_v<TypeParam, Half> ? DataType::half
                                                            : DataType::bfloat16;
    const auto actual_type = std::is_same_v<TypeParam, Fp8E5M2> ? DataType::fp8_e5m2 : type;
    for (std::size_t skew = 0; skew < 16; ++skew)
        for (std::size_t float_skew = 0; float_skew < 16; float_skew += 3)
            for (std::size_t count : {0, 1, 15, 16, 17, 100, 333}) {
                std::vector<TypeParam> narrow(count), back;
                std::vector<float> wide;
                for (auto& each : narrow) {
                    each = random_element<TypeParam>(random);
                    wide.push_back(static_cast<float>(each));
                    back.push_back(TypeParam(wide.back()));
                }
                auto slots = std::make_unique<Slots>();
                std::ranges::copy(memory_of(narrow), slots->at(0, skew));
                const auto elements = static_cast<std::int64_t>(count);
                by_threads(3, [&](std::int64_t thread, std::int64_t threads) {
                    cast<TypeParam, Direction::widen, Access::shared>(
                        slots->at(0, skew), slots->at(1, float_skew), elements, thread, threads);
                });
                by_threads(4, [&](std::int64_t thread, std::int64_t threads) {
                    cast<TypeParam, Direction::narrow, Access::shared>(
                        slots->at(2, skew), slots->at(1, float_skew), elements, thread, threads);
                });
                ASSERT_TRUE(same_numbers(DataType::float32, slots->at(1, float_skew),
                                         memory_of(wide).data(), count));
                ASSERT_TRUE(
                    same_numbers(actual_type, slots->at(2, skew), memory_of(back).data(), count));
                ASSERT_EQ(*(slots->at(2, skew) + count * sizeof(TypeParam)), guard);
                ASSERT_EQ(*(slots->at(1, float_skew) + count * sizeof(float)), guard);
            }
}

}  // namespace tutti::device
