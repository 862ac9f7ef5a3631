// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/shared_piece.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <vector>

#include "base/index.hpp"
#include "collectives/world/shared_memory.hpp"
#include "collectives/world/signal.hpp"

namespace tutti {
namespace {

// Larger pieces have memory of their own, which returns to the system.
constexpr std::size_t most_in_arena = std::size_t{256} << 10;
constexpr std::size_t arena_bytes = std::size_t{4} << 20;

// A piece of this rank in an arena.
struct Grant {
    int arena = -1;  // -1: no arena has room
    bool is_reused = false;
    std::size_t offset = 0;
    std::size_t bytes = 0;  // a power of two
    std::size_t used = 0;   // used bytes of these
};

// The arenas of a world; all ranks have the same number of them. Each rank divides its own part.
class Arenas {
public:
    Grant take(std::size_t bytes) {
        auto& reusable = free_[bytes];
        if (!reusable.empty()) {
            const Grant grant = reusable.back();
            reusable.pop_back();
            return grant;
        }
        if (arenas_.empty() || arena_bytes - used_ < bytes) return {.bytes = bytes};
        used_ += bytes;
        return {.arena = int_size(arenas_) - 1, .offset = used_ - bytes, .bytes = bytes};
    }

    void give_back(Grant grant) {
        grant.is_reused = true;
        if (grant.arena >= 0) free_[grant.bytes].push_back(grant);
    }

    // Adds an arena. A rank without a grant gets its first bytes. Collective.
    void grow(World& world, std::vector<Grant>& of_all) {
        arenas_.push_back(std::make_shared<SharedMemory>(world, arena_bytes));
        used_ = 0;
        for (Rank rank; rank.index < world.size(); ++rank.index) {
            Grant& grant = at(of_all, rank);
            if (grant.arena >= 0) continue;
            grant = {.arena = int_size(arenas_) - 1, .bytes = grant.bytes, .used = grant.used};
            if (rank == world.rank()) used_ = grant.bytes;
        }
    }

    std::span<std::byte> piece(Rank rank, const Grant& grant) const {
        return at(arenas_, grant.arena)->of(rank).subspan(grant.offset, grant.used);
    }

private:
    std::vector<std::shared_ptr<SharedMemory>> arenas_;
    std::size_t used_ = 0;  // bytes taken from the last arena
    std::map<std::size_t, std::vector<Grant>> free_;
};

using SharedArenas = std::shared_ptr<Arenas>;

class Piece final : public ReachableMemory {
public:
    Piece(Rank me, SharedArenas arenas, std::vector<Grant> grants)
        : ReachableMemory(me), arenas_(std::move(arenas)), mine_(at(grants, me)) {
        for (Rank rank; rank.index < int_size(grants); ++rank.index)
            pieces_.push_back(arenas_->piece(rank, at(grants, rank)));
    }
    ~Piece() override { arenas_->give_back(mine_); }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

    std::span<std::byte> of(Rank rank) const override { return at(pieces_, rank); }

private:
    SharedArenas arenas_;
    Grant mine_;
    std::vector<std::span<std::byte>> pieces_;  // by rank
};

}  // namespace

std::unique_ptr<ReachableMemory> shared_piece(World& world, std::size_t mine) {
    const SharedArenas arenas =
        world.attribute<SharedArenas>([] { return new SharedArenas(new Arenas); });
    const std::size_t bytes = std::bit_ceil(std::max(mine, cache_line));
    Grant own = bytes <= most_in_arena ? arenas->take(bytes) : Grant{.bytes = bytes};
    own.used = mine;
    auto grants = gather_all(world, own);
    const auto is_large = [](const Grant& one) { return one.bytes > most_in_arena; };
    if (std::ranges::any_of(grants, is_large)) {
        arenas->give_back(own);
        return std::make_unique<SharedMemory>(world, mine);
    }
    const auto has_none = [](const Grant& one) { return one.arena < 0; };
    if (std::ranges::any_of(grants, has_none)) arenas->grow(world, grants);
    auto piece = std::make_unique<Piece>(world.rank(), arenas, grants);
    // A peer may write into a piece as soon as it knows of it.
    if (std::ranges::any_of(grants, &Grant::is_reused)) {
        if (own.is_reused) std::memset(piece->mine().data(), 0, mine);
        world.barrier();
    }
    return piece;
}

}  // namespace tutti
