// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/shared_piece.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/index.hpp"

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

}  // namespace
}  // namespace tutti
