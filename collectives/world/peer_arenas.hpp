// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "base/open_file.hpp"
#include "collectives/heap/tutti_heap.h"

namespace tutti {

/// The location of memory in the file of another process's heap, as sent by that process.
using HeapPlace = tutti_heap_place;

/// The heaps of other processes on this host, as mapped by this process. Each heap is mapped once
/// per process, when the first address in it is seen, with room for its largest size. It stays
/// mapped while an object of this class refers to it. Each object is for one thread.
class PeerArenas {
public:
    /// Returns the address of those bytes in this process, valid as long as this object lives.
    /// Takes a few ns if the heap is known and has not grown since. Throws Error if the file is
    /// another one, cannot be mapped, or does not have those bytes.
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
        std::size_t bytes = 0;  // known size of the file
    };

    Arena& open(const HeapPlace& place);
    static std::shared_ptr<const Mapping> map(const HeapPlace& place);

    std::unordered_map<File, Arena, Hash> arenas_;
};

}  // namespace tutti
