// SPDX-License-Identifier: Apache-2.0
// Casts on a GPU compared with the conversions of base/floats.hpp.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cuda/kernels.hpp"
#include "tests/kernels/device_arena.cuh"

namespace tutti::device {

class CudaCast : public testing::TestWithParam<DataType> {
protected:
    void SetUp() override {
        if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
    }

    /// Casts narrow elements to floats and back to the same number, or NaN to NaN.
    template <class Narrow>
    static void cast_there_and_back(const std::vector<Narrow>& narrow, std::size_t skew,
                                    std::size_t float_skew) {
        const std::size_t count = narrow.size();
        const auto elements = static_cast<std::int64_t>(count);
        DeviceArena arena(3, count * 4 + 2 * DeviceArena::guard + 16);
        std::ranges::copy(std::as_bytes(std::span(narrow)), arena.on_host(0, skew));
        arena.upload();
        auto* const floats = arena.on_device(1, float_skew);
        cast_to_float(GetParam(), reinterpret_cast<float*>(floats), arena.on_device(0, skew),
                      elements, nullptr);
        cast_from_float(GetParam(), arena.on_device(2, skew),
                        reinterpret_cast<const float*>(floats), elements, nullptr);
        const Memory content = arena.download();
        std::vector<float> wide;
        std::vector<Narrow> back;
        for (const Narrow& each : narrow) {
            wide.push_back(static_cast<float>(each));
            back.push_back(Narrow(wide.back()));  // an infinity of fp8 becomes the largest number
        }
        EXPECT_TRUE(same_numbers(DataType::float32, content.data() + arena.offset(1, float_skew),
                                 memory_of(wide).data(), count));
        EXPECT_TRUE(same_numbers(GetParam(), content.data() + arena.offset(2, skew),
                                 memory_of(back).data(), count));
    }
};

TEST_P(CudaCast, TakesEveryPatternToItsFloatAndBack) {
    with_element(GetParam(), [](auto zero) {
        using Narrow = decltype(zero);
        if constexpr (sizeof(Narrow) <= 2) {
            std::vector<Narrow> every;
            for (std::uint64_t bits = 0; bits < std::uint64_t{1} << (8 * sizeof(Narrow)); ++bits)
                every.push_back(element_of_bits<Narrow>(bits));
            cast_there_and_back(every, 0, 0);
        }
    });
}

TEST_P(CudaCast, CastsAnyCountAtAnyAlignment) {
    with_element(GetParam(), [](auto zero) {
        using Narrow = decltype(zero);
        std::mt19937_64 random(9);
        for (std::size_t count : {0, 1, 7, 8, 9, 15, 16, 17, 100, 1021})
            for (std::size_t skew = 0; skew < 16; ++skew)
                for (std::size_t float_skew : {0, 4, 12}) {
                    std::vector<Narrow> narrow(count);
                    for (auto& each : narrow) each = random_element<Narrow>(random);
                    cast_there_and_back(narrow, skew, float_skew);
                }
    });
}

TEST_P(CudaCast, RoundsAsTheHostDoes) {
    std::mt19937_64 random(10);
    std::vector<float> floats;
    for (int i = 0; i < 1 << 16; ++i) floats.push_back(random_element<float>(random));
    for (int i = 0; i < 1 << 16; ++i)  // the range of the narrow types, including ties
        floats.push_back(std::ldexp(static_cast<float>(static_cast<int>(random() % 8192) - 4096),
                                    static_cast<int>(random() % 48) - 36));
    const std::size_t count = floats.size();
    DeviceArena arena(2, count * 4 + 2 * DeviceArena::guard);
    std::memcpy(arena.on_host(0, 0), floats.data(), count * 4);
    arena.upload();
    cast_from_float(GetParam(), arena.on_device(1, 0),
                    reinterpret_cast<const float*>(arena.on_device(0, 0)),
                    static_cast<std::int64_t>(count), nullptr);
    const Memory content = arena.download();
    const Memory expected = with_element(GetParam(), [&](auto zero) {
        std::vector<decltype(zero)> narrow;
        for (float each : floats) narrow.push_back(static_cast<decltype(zero)>(each));
        return memory_of(narrow);
    });
    EXPECT_TRUE(
        same_numbers(GetParam(), content.data() + arena.offset(1, 0), expected.data(), count));
}

INSTANTIATE_TEST_SUITE_P(Types, CudaCast,
                         testing::Values(DataType::half, DataType::bfloat16, DataType::fp8_e4m3,
                                         DataType::fp8_e5m2),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

}  // namespace tutti::device
