// SPDX-License-Identifier: Apache-2.0
// The kernels on a GPU compared with the scalar ones on the host: the same bits in every element
// that is
// not a NaN, and nothing else changed. Skipped, with the reason, without a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "kernels/cuda/kernels.hpp"
#include "kernels/sets.hpp"
#include "tests/kernels/device_arena.cuh"

namespace tutti::device {

constexpr std::size_t most_tested_sources = 9, most_tested_outs = 3, most_count = 2100;
constexpr std::size_t slot_bytes = most_count * 8 + 2 * DeviceArena::guard + 16;

/// Source s is skewed by skews[s], out o by skews[sources + o], or equals a source.
struct Layout {
    std::size_t sources, outs, count;
    std::vector<std::size_t> skews;
    std::optional<std::size_t> in_place;  // the source that the first out is
    int divisor = 1;
};

void PrintTo(const Layout& layout, std::ostream* out) {
    *out << layout.sources << " sources, " << layout.outs << " outs, " << layout.count
         << " elements, divisor " << layout.divisor << ", skews";
    for (std::size_t skew : layout.skews) *out << " " << skew;
    if (layout.in_place) *out << ", in place of source " << *layout.in_place;
}

class CudaReduce : public testing::TestWithParam<DataType> {
protected:
    void SetUp() override {
        if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
        arena_.emplace(most_tested_sources + most_tested_outs, slot_bytes);
        std::mt19937_64 random(7);
        for (std::size_t s = 0; s < most_tested_sources; ++s)
            sources_.push_back(filled_memory(GetParam(), most_count, [&](auto zero) {
                return random_element<decltype(zero)>(random);
            }));
    }

    /// Runs one call on both sides; returns whether all bytes of the arena agree.
    bool agrees(Op op, const Layout& layout) {
        const DataType type = GetParam();
        const std::size_t bytes = layout.count * size_of(type);
        std::ranges::fill(arena_->image, std::byte{0xa5});
        std::vector<const std::byte*> on_host, on_device;
        for (std::size_t s = 0; s < layout.sources; ++s) {
            std::copy_n(sources_[s].begin(), bytes, arena_->on_host(s, layout.skews[s]));
            on_host.push_back(sources_[s].data());
            on_device.push_back(arena_->on_device(s, layout.skews[s]));
        }
        arena_->upload();

        Memory expected(bytes);
        std::byte* const result = expected.data();
        const KernelSet& scalar = kernel_sets().back();
        scalar.find(type, op, Stores::cached)(&result, 1, on_host.data(), layout.sources,
                                              layout.count);
        if (op == Op::avg) scalar.find_divide(type)(result, layout.count, layout.divisor);

        std::vector<std::size_t> places;  // places of the outs in the arena
        std::vector<std::byte*> outs;
        for (std::size_t o = 0; o < layout.outs; ++o) {
            const bool is_source = o == 0 && layout.in_place.has_value();
            const std::size_t slot = is_source ? *layout.in_place : most_tested_sources + o;
            const std::size_t skew = layout.skews[is_source ? slot : layout.sources + o];
            places.push_back(arena_->offset(slot, skew));
            outs.push_back(arena_->on_device(slot, skew));
        }
        reduce(type, op, outs, on_device, static_cast<std::int64_t>(layout.count), nullptr,
               layout.divisor);
        Memory content = arena_->download();
        for (std::size_t place : places) {
            if (!same_numbers(type, content.data() + place, expected.data(), layout.count))
                return false;
            std::copy_n(arena_->image.data() + place, bytes, content.data() + place);
        }
        return content == arena_->image;  // all other bytes are unchanged
    }

    /// Counts around nothing, a packet, and the work of a block and of a grid.
    static std::vector<std::size_t> counts() {
        const std::size_t packet = 16 / size_of(GetParam());
        return {0, 1, packet - 1, packet, packet + 1, 3 * packet + 1, 64 * packet + 3, most_count};
    }

    std::optional<DeviceArena> arena_;
    std::vector<Memory> sources_;
};

TEST_P(CudaReduce, GivesTheBitsOfTheScalarKernelsAtEveryAlignment) {
    for (Op op : all_ops())
        for (std::size_t sources = 1; sources <= most_tested_sources; ++sources)
            for (std::size_t skew = 0; skew < 16; ++skew)
                for (std::size_t count : counts()) {
                    const Layout layout{sources,      1,
                                        count,        std::vector<std::size_t>(sources + 1, skew),
                                        std::nullopt, static_cast<int>(1 + skew)};
                    ASSERT_TRUE(agrees(op, layout))
                        << name_of(op) << ": " << testing::PrintToString(layout);
                }
}

TEST_P(CudaReduce, TakesOperandsThatLieDifferentlyAndManyOuts) {
    std::mt19937_64 random(8);
    for (Op op : all_ops())
        for (int i = 0; i < 200; ++i) {
            Layout layout{.sources = 1 + random() % most_tested_sources,
                          .outs = 1 + random() % most_tested_outs,
                          .count = random() % (most_count + 1),
                          .divisor = static_cast<int>(1 + random() % 1000)};
            for (std::size_t o = 0; o < layout.sources + layout.outs; ++o)
                layout.skews.push_back(random() % 16);
            if (i % 2 == 0) layout.in_place = random() % layout.sources;
            ASSERT_TRUE(agrees(op, layout))
                << name_of(op) << ": " << testing::PrintToString(layout);
        }
}

TEST_P(CudaReduce, ReducesInPlaceOfTheFirstAndTheLastSource) {
    for (Op op : all_ops())
        for (std::size_t sources = 1; sources <= most_tested_sources; ++sources)
            for (std::size_t place : {std::size_t{0}, sources - 1})
                for (std::size_t count : counts()) {
                    const Layout layout{sources, 1, count, std::vector<std::size_t>(sources + 1, 0),
                                        place,   3};
                    ASSERT_TRUE(agrees(op, layout))
                        << name_of(op) << ": " << testing::PrintToString(layout);
                }
}

INSTANTIATE_TEST_SUITE_P(Types, CudaReduce, testing::ValuesIn(all_data_types()),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

// 2^32 + 17 bytes, beyond 32-bit arithmetic: the ends show whether all was done.
TEST(CudaCopy, ReachesBeyondFourGigabytes) {
    if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
    const std::size_t bytes = (std::size_t{1} << 32) + 17;
    void *from = nullptr, *to = nullptr;
    if (cudaMalloc(&from, bytes) != cudaSuccess || cudaMalloc(&to, bytes) != cudaSuccess) {
        cudaFree(from);
        GTEST_SKIP() << "less than 8 GiB of memory on the GPU";
    }
    require(cudaMemset(from, 0x5a, bytes));
    require(cudaMemset(to, 0, bytes));
    auto* const out = static_cast<std::byte*>(to);
    copy({&out, 1}, static_cast<const std::byte*>(from), static_cast<std::int64_t>(bytes), nullptr);
    for (std::size_t at : {std::size_t{0}, bytes / 2, std::size_t{1} << 32, bytes - 1}) {
        std::byte found{};
        require(cudaMemcpy(&found, out + at, 1, cudaMemcpyDeviceToHost));
        EXPECT_EQ(found, std::byte{0x5a}) << at;
    }
    cudaFree(from);
    cudaFree(to);
}

}  // namespace tutti::device
