// SPDX-License-Identifier: Apache-2.0
// Offsets of chunks beyond 32 bits; they can be computed without any memory.
#include "collectives/execute/plan/layout.hpp"

#include <gtest/gtest.h>

namespace tutti {
namespace {

constexpr std::int64_t many = 3'000'000'001;  // elements, more than 32 bits can count

TEST(Layout, OfBlocksBeyondThirtyTwoBitsIsThatOfTheFormula) {
    constexpr int ranks = 5, parts = 7, chunks = ranks * parts;
    const Call call{.collective = Collective::all_gather, .type = DataType::float64, .count = many};
    const CollectiveSpec spec{call.collective, ranks};
    const Layout layout(call, spec, Rank{3}, chunks);
    for (int chunk = 0; chunk < chunks; ++chunk) {
        const std::int64_t block = chunk / parts, part = chunk % parts;
        const std::int64_t first = many * part / parts, behind = many * (part + 1) / parts;
        EXPECT_EQ(layout.in_output(chunk), static_cast<std::size_t>((block * many + first) * 8));
        EXPECT_EQ(layout.bytes_of(chunk), static_cast<std::size_t>((behind - first) * 8));
        if (block == 3) {
            EXPECT_EQ(layout.in_input(chunk), static_cast<std::size_t>(first * 8));
        } else {
            EXPECT_EQ(layout.in_input(chunk), std::nullopt);
        }
    }
    EXPECT_EQ(layout.most_bytes_of_chunk(),
              static_cast<std::size_t>((many + parts - 1) / parts * 8));
}

// n * i / C is correct even if n * i does not fit 64 bits.
TEST(Layout, OfSoManyChunksThatTheirProductOverflowsIsThatOfTheFormula) {
    constexpr std::int64_t each = 1LL << 20;
    constexpr int chunks = 1 << 23;
    const Call call{
        .collective = Collective::all_reduce, .type = DataType::int8, .count = each * chunks};
    const Layout layout(call, CollectiveSpec{call.collective, 2}, Rank{1}, chunks);
    for (const int chunk : {0, 1, 12'345, chunks / 2, chunks - 1}) {
        EXPECT_EQ(layout.in_input(chunk), static_cast<std::size_t>(chunk * each));
        EXPECT_EQ(layout.in_output(chunk), static_cast<std::size_t>(chunk * each));
        EXPECT_EQ(layout.bytes_of(chunk), static_cast<std::size_t>(each));
    }
}

TEST(Layout, OfBuffersBeyondThirtyTwoBitsIsThatOfTheFormula) {
    constexpr int ranks = 3;
    constexpr auto block = static_cast<std::size_t>(many) * 4;
    for (const Collective collective : all_collectives()) {
        const Call call{.collective = collective, .root = Rank{1}, .count = many};
        const CollectiveSpec spec{collective, ranks, call.root};
        for (const int index : {0, 1, 2}) {
            const Rank rank{index};
            EXPECT_EQ(input_bytes(call, ranks, rank),
                      static_cast<std::size_t>(spec.input_blocks(rank)) * block);
            EXPECT_EQ(output_bytes(call, ranks, rank),
                      static_cast<std::size_t>(spec.output_blocks(rank)) * block);
        }
        const bool one = spec.blocks() == 1;
        EXPECT_EQ(total_bytes(call, ranks),
                  has_buffers(collective) ? many * 4 * (one ? 1 : ranks) : 0);
    }
    const Call call{.collective = Collective::all_gather, .count = many};
    EXPECT_EQ(in_place_offsets(call, ranks, Rank{2}).input, 2 * block);
    EXPECT_EQ(
        in_place_offsets({.collective = Collective::reduce_scatter, .count = many}, ranks, Rank{2})
            .output,
        2 * block);
}

// A plan made for one type serves all.
TEST(Layout, GivesABarriersTokenAsManyBytesForEveryType) {
    const CollectiveSpec spec{Collective::barrier, 2};
    for (const DataType type : all_data_types())
        for (const std::int64_t count : {0, 100}) {
            const Call call{.collective = Collective::barrier, .type = type, .count = count};
            EXPECT_EQ(Layout(call, spec, Rank{0}, 1).bytes_of(0), 8u);
            EXPECT_EQ(Layout(call, spec, Rank{0}, 1).in_input(0), std::nullopt);
            EXPECT_EQ(Layout(call, spec, Rank{0}, 1).in_output(0), std::nullopt);
        }
}

}  // namespace
}  // namespace tutti
