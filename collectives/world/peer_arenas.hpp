// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "base/open_file.hpp"
#include "collectives/heap/tutti_heap.h"

namespace tutti {

/// Where memory of another process lies in the file of its heap; that process told.
using HeapPlace = tutti_heap_place;

/// The heaps of other processes on this host, as this process has them. Each is mapped once in the
/// process, when the first address in it is seen, as large as it may grow, and stays as long as an
/// object here knows it. Each object is for one thread.
class PeerArenas {
public:
    /// Where this process loads and stores those bytes, as long as this object lives. A lookup of a
    /// few ns if the heap is known and has not grown since. Throws Error if the file is not the one
    /// that was told of, cannot be mapped, or does not have those bytes.
    std::byte* address_of(const HeapPlace& place) {
        const auto known = arenas_.find({place.device, place.inode});
        Arena& arena = known != arenas_.end() ? known->second : open(place);
        if (!arena.has(place)) arena.grow(place);
        return arena.mapping->begin + place.offset;
    }

private:
    struct File {
        std::uint64_t device, inode;
        bool operator==(const File&) const = default;
    };
    struct Hash {
        std::size_t operator()(const File& file) const { return file.inode; }
    };
    struct Mapping {
        Mapping(OpenFile opened, std::size_t largest);
        ~Mapping();
        OpenFile file;
        std::size_t most;
        std::byte* begin;
    };
    struct Arena {
        bool has(const HeapPlace& place) const {
            return place.offset <= bytes && place.bytes <= bytes - place.offset;
        }
        void grow(const HeapPlace& place);

        std::shared_ptr<const Mapping> mapping;
        std::size_t bytes = 0;  // that the file is known to have
    };

    Arena& open(const HeapPlace& place);
    static std::shared_ptr<const Mapping> map(const HeapPlace& place);

    std::unordered_map<File, Arena, Hash> arenas_;
};

}  // namespace tutti
