// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/shared_piece.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/world/shared_file.hpp"
#include "collectives/world/signal.hpp"

namespace tutti {
namespace {

// Larger pieces have a file of their own, whose memory returns to the system.
constexpr std::size_t most_in_arena = std::size_t{256} << 10;
constexpr std::size_t arena_bytes = std::size_t{4} << 20;
// A rank prefaults its own piece if it has at most this size, and the pieces of its peers up to
// this total. With many ranks, a plan reads the pieces of only a few peers.
constexpr std::size_t most_prefaulted = std::size_t{16} << 20;

// Stored at the start of a rank's piece. The sizes of its parts follow, then the parts.
struct alignas(cache_line) Head {
    std::uint64_t releases;  // ranks that have released the piece
};

std::size_t offset_of(std::size_t number, std::span<const std::size_t> sizes_of_parts) {
    std::size_t offset = sizeof(Head) + round_up(sizes_of_parts.size_bytes(), cache_line);
    for (const std::size_t size : sizes_of_parts.first(number))
        offset += round_up(size, cache_line);
    return offset;
}

std::size_t bytes_of(std::span<const std::size_t> sizes_of_parts) {
    return offset_of(sizes_of_parts.size(), sizes_of_parts);
}

// A piece of a rank of this process.
struct Grant {
    std::shared_ptr<SharedFile> file;
    std::size_t offset = 0;
    std::size_t bytes = 0;  // in an arena: a power of two
    int ranks = 0;          // that use it

    bool is_in_arena() const { return bytes <= most_in_arena; }
    std::span<std::byte> memory() const { return file->mapping()->bytes().subspan(offset, bytes); }
    bool is_released() const {
        return seen(reinterpret_cast<Head*>(memory().data())->releases) == as_size(ranks);
    }
};

// The data with which a peer finds a piece.
struct PlaceOfPiece {
    SharedFile::Key file;
    std::size_t offset = 0;
    std::size_t bytes = 0;
};

// The arenas of this process, whose ranks may be threads, and those of its peers that it has
// mapped.
class ProcessArenas {
public:
    // A forked process begins without any: it shares the pages of its parent's arenas.
    static std::shared_ptr<ProcessArenas> of_this_process() {
        static std::mutex mutex;
        static std::shared_ptr<ProcessArenas> arenas;
        const std::lock_guard lock(mutex);
        if (arenas == nullptr || !arenas->are_of_this_process())
            arenas = std::make_shared<ProcessArenas>();
        return arenas;
    }

    bool are_of_this_process() const { return process_ == getpid(); }

    // Returns zeroed memory, or a file with an error.
    Grant take(std::size_t needed, int ranks) {
        const std::lock_guard lock(mutex_);
        const std::size_t bytes = std::bit_ceil(needed);
        if (bytes > most_in_arena) return {new_file(needed), 0, needed, ranks};
        std::vector<Grant>& returned = returned_[bytes];
        const auto free = std::ranges::find_if(returned, &Grant::is_released);
        if (free != returned.end()) {
            Grant grant = std::exchange(*free, returned.back());
            returned.pop_back();
            std::memset(grant.memory().data(), 0, needed);
            grant.ranks = ranks;
            return grant;
        }
        if (arena_ == nullptr || arena_->key().error != 0 || arena_bytes - used_ < bytes) {
            arena_ = new_file(arena_bytes);
            used_ = 0;
        }
        used_ += bytes;
        return {arena_, used_ - bytes, bytes, ranks};
    }

    void give_back(const Grant& grant) {
        const std::lock_guard lock(mutex_);
        if (grant.is_in_arena()) returned_[grant.bytes].push_back(grant);
    }

    // Returns a file as mapped by this process. Arenas stay mapped while their process lives.
    std::shared_ptr<const SharedMapping> map(const SharedFile::Key& key) {
        const std::lock_guard lock(mutex_);
        if (auto known = known_[id_of(key)].lock()) return known;
        std::shared_ptr<const SharedMapping> mapping = map_shared_file(key);
        remember(key, mapping);
        if (key.size == arena_bytes) arenas_of_peers_[id_of(key)] = mapping;
        return mapping;
    }

private:
    using Id = std::pair<int, std::uint64_t>;  // process and token
    static Id id_of(const SharedFile::Key& key) { return {key.process, key.token}; }

    std::shared_ptr<SharedFile> new_file(std::size_t size) {
        auto file = std::make_shared<SharedFile>(size);
        remember(file->key(), file->mapping());
        return file;
    }

    void remember(const SharedFile::Key& key, const std::shared_ptr<const SharedMapping>& mapping) {
        std::erase_if(arenas_of_peers_, [](const auto& one) {
            return one.second.use_count() == 1 && kill(one.first.first, 0) != 0 && errno == ESRCH;
        });
        std::erase_if(known_, [](const auto& one) { return one.second.expired(); });
        known_[id_of(key)] = mapping;
    }

    const pid_t process_ = getpid();
    std::mutex mutex_;
    std::shared_ptr<SharedFile> arena_;                   // the one that is not yet full
    std::size_t used_ = 0;                                // bytes taken from it
    std::map<std::size_t, std::vector<Grant>> returned_;  // by size; peers may not have released it
    std::map<Id, std::weak_ptr<const SharedMapping>> known_;
    std::map<Id, std::shared_ptr<const SharedMapping>> arenas_of_peers_;
};

class Part final : public ReachableMemory {
public:
    Part(Rank me, std::shared_ptr<const void> piece, std::vector<std::span<std::byte>> of_rank)
        : ReachableMemory(me), piece_(std::move(piece)), of_rank_(std::move(of_rank)) {}

    std::span<std::byte> of(Rank rank) const override { return at(of_rank_, rank); }

private:
    std::shared_ptr<const void> piece_;  // that it is a part of
    std::vector<std::span<std::byte>> of_rank_;
};

}  // namespace

// The pieces of all ranks. A rank counts its release in each of them.
class SharedPieces::Piece {
public:
    Piece(std::shared_ptr<ProcessArenas> arenas, std::span<const std::size_t> sizes, int ranks)
        : arenas_(std::move(arenas)), bytes_(bytes_of(sizes)) {
        mine_ = arenas_->take(bytes_, ranks);
        if (mine_.file->key().error != 0) return;
        // The owner touches the pages first, so they are on its NUMA node.
        if (bytes_ <= most_prefaulted) mine_.file->mapping()->prefault(mine_.offset, bytes_);
        std::ranges::copy(std::as_bytes(sizes), mine_.memory().begin() + sizeof(Head));
        parts_ = sizes.size();
    }
    ~Piece() {
        if (!arenas_->are_of_this_process()) return;
        for (const OfRank& one : of_rank_)
            std::atomic_ref(reinterpret_cast<Head*>(one.begin)->releases)
                .fetch_add(1, std::memory_order_acq_rel);
        if (!of_rank_.empty()) arenas_->give_back(mine_);
    }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

    PlaceOfPiece place() const { return {mine_.file->key(), mine_.offset, bytes_}; }

    void map(const std::vector<PlaceOfPiece>& of_ranks) {
        std::size_t prefaulted = 0;
        for (const PlaceOfPiece& place : of_ranks) {
            auto mapping = arenas_->map(place.file);
            std::byte* const begin = mapping->bytes().data() + place.offset;
            const bool is_of_peer = place.file.process != getpid();
            if (is_of_peer && prefaulted + place.bytes <= most_prefaulted) {
                mapping->prefault(place.offset, place.bytes);
                prefaulted += place.bytes;
            }
            of_rank_.push_back({std::move(mapping), begin});
        }
    }

    std::vector<std::span<std::byte>> part(std::size_t number) const {
        std::vector<std::span<std::byte>> part;
        for (const OfRank& one : of_rank_) {
            const std::span sizes(reinterpret_cast<const std::size_t*>(one.begin + sizeof(Head)),
                                  parts_);
            part.emplace_back(one.begin + offset_of(number, sizes), sizes[number]);
        }
        return part;
    }

    void close_file() {
        if (!mine_.is_in_arena()) mine_.file->close();
    }

private:
    struct OfRank {
        std::shared_ptr<const SharedMapping> mapping;
        std::byte* begin;
    };

    std::shared_ptr<ProcessArenas> arenas_;
    std::size_t bytes_;
    Grant mine_;
    std::size_t parts_ = 0;
    std::vector<OfRank> of_rank_;
};

SharedPieces::SharedPieces(World& world, std::span<const std::size_t> mine, bool lacks_memory)
    : me_(world.rank()),
      piece_(std::make_shared<Piece>(ProcessArenas::of_this_process(), mine, world.size())) {
    PlaceOfPiece own = piece_->place();
    if (lacks_memory) own.file.error = ENOMEM;
    const auto places = gather_all(world, own);
    for (const PlaceOfPiece& place : places) require_memory(place.file);
    piece_->map(places);
}

std::unique_ptr<ReachableMemory> SharedPieces::part(std::size_t number) const {
    return std::make_unique<Part>(me_, piece_, piece_->part(number));
}

void SharedPieces::all_have_mapped() { piece_->close_file(); }

std::unique_ptr<ReachableMemory> shared_piece(World& world, std::size_t mine) {
    return SharedPieces(world, {&mine, 1}).part(0);
}

}  // namespace tutti
