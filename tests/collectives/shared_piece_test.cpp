// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/shared_piece.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "base/open_file.hpp"
#include "collectives/world/shared_file.hpp"
#include "collectives/world/shared_plan_memory.hpp"

namespace tutti {
namespace {

bool all_are(std::span<const std::byte> memory, std::byte value) {
    return std::ranges::all_of(memory, [&](std::byte one) { return one == value; });
}

// Each rank may contribute another size; pieces of all sizes come in turn and return to the arenas.
TEST(SharedPiece, IsZeroedAndReachedByAllRanks) {
    run_as_threads(3, 20, [](World& world) {
        const int me = world.rank().index;
        std::vector<std::unique_ptr<ReachableMemory>> kept;
        for (int round = 0; round < 200; ++round) {
            const auto bytes_of = [&](int rank) {
                return as_size(1 + (round * 37 + rank * 11) % 97) << round % 14;
            };
            auto piece = shared_piece(world, bytes_of(me));
            for (int rank = 0; rank < world.size(); ++rank) {
                const auto memory = piece->of(Rank{rank});
                EXPECT_EQ(memory.size(), bytes_of(rank));
                EXPECT_TRUE(all_are(memory, std::byte{0})) << "round " << round;
            }
            world.barrier();
            std::ranges::fill(piece->mine(), static_cast<std::byte>(1 + me));
            world.barrier();
            for (int rank = 0; rank < world.size(); ++rank)
                EXPECT_TRUE(all_are(piece->of(Rank{rank}), static_cast<std::byte>(1 + rank)));
            world.barrier();
            if (round % 3 == 0) kept.push_back(std::move(piece));
            if (kept.size() > 20) kept.erase(kept.begin(), kept.begin() + 10);
        }
        world.barrier();
    });
}

// Returns whether all pages of this memory are mapped in this process.
bool are_mapped(std::span<const std::byte> memory) {
    constexpr std::size_t page = 4096;
    const OpenFile pages("/proc/self/pagemap", O_RDONLY);
    const auto number_of = [](const std::byte* at) {
        return reinterpret_cast<std::uintptr_t>(at) / page;
    };
    const auto last = number_of(&memory.back());
    for (auto number = number_of(memory.data()); number <= last; ++number) {
        std::uint64_t entry = 0;
        const auto at = static_cast<off_t>(number * sizeof entry);
        if (pread(pages.number, &entry, sizeof entry, at) != sizeof entry || entry >> 63 == 0)
            return false;
    }
    return true;
}

// Fresh pages are zeroed and mapped by one system call instead of a page fault each. A piece of
// this size has a file of its own, so its pages are fresh.
TEST(SharedPiece, IsPrefaulted) {
    if (!SharedMapping(1).prefault(0, 1))
        GTEST_SKIP() << "this needs Linux 5.14 or later (MADV_POPULATE_WRITE)";
    if (!OpenFile("/proc/self/pagemap", O_RDONLY)) GTEST_SKIP() << "this needs /proc/self/pagemap";
    run_as_threads(2, 20, [](World& world) {
        const auto piece = shared_piece(world, 300 << 10);
        for (int rank = 0; rank < world.size(); ++rank)
            EXPECT_TRUE(are_mapped(piece->of(Rank{rank})));
        world.barrier();
    });
}

// A rank may have left a communicator, and make another one, while a peer still reads its memory.
TEST(SharedPiece, IsKeptUntilAllRanksHaveReleasedIt) {
    run_as_threads(2, 20, [](World& world) {
        constexpr std::size_t bytes = 40'000;
        auto piece = shared_piece(world, bytes);
        std::ranges::fill(piece->mine(), std::byte{7});
        world.barrier();
        const auto alone = world.split(world.rank().index);
        if (world.is_first()) piece.reset();
        std::vector<std::unique_ptr<ReachableMemory>> others;
        for (int i = 0; i < 100; ++i)  // more than earlier tests have left of this size
            others.push_back(shared_piece(*alone, bytes));
        world.barrier();
        if (!world.is_first()) {
            EXPECT_TRUE(all_are(piece->of(Rank{0}), std::byte{7}));
        }
        world.barrier();
    });
}

TEST(SharedPlanMemory, IsRefusedToAllRanksIfOneCannotMakeItsPart) {
    run_as_threads(3, 20, [](World& world) {
        for (const bool lacks : {true, false}) {
            SharedPlanMemory memory(world);
            std::unique_ptr<ReachableMemory> part;
            if (lacks && world.rank().index == 1)
                memory.lacks_memory();
            else
                memory.ask(100, [&](auto provided) { part = std::move(provided); });
            if (lacks) {
                EXPECT_THROW(memory.provide("plan"), Error);
            } else {
                memory.provide("plan");
                EXPECT_EQ(part->of(Rank{2}).size(), 100U);
            }
            world.barrier();
        }
    });
}

// Also of ranks that contribute different sizes.
TEST(SharedPiece, HasPartsThatAreReachedApart) {
    run_as_threads(3, 20, [](World& world) {
        const auto bytes_of = [](int rank, std::size_t part) {
            return as_size(rank) * 100'000 + part;  // some have a file of their own
        };
        std::vector<std::size_t> sizes;
        for (std::size_t part = 0; part < 5; ++part)
            sizes.push_back(bytes_of(world.rank().index, part));
        SharedPieces pieces(world, sizes);
        world.barrier();
        pieces.all_have_mapped();
        std::vector<std::unique_ptr<ReachableMemory>> parts;
        for (std::size_t part = 0; part < 5; ++part) {
            parts.push_back(pieces.part(part));
            std::ranges::fill(parts.back()->mine(), static_cast<std::byte>(part + 1));
        }
        world.barrier();
        for (std::size_t part = 0; part < 5; ++part)
            for (int rank = 0; rank < 3; ++rank) {
                const auto memory = parts[part]->of(Rank{rank});
                EXPECT_EQ(memory.size(), bytes_of(rank, part));
                EXPECT_TRUE(all_are(memory, static_cast<std::byte>(part + 1)));
            }
        world.barrier();
    });
}

}  // namespace
}  // namespace tutti
