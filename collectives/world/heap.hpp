// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "base/open_file.hpp"
#include "collectives/heap/tutti_heap.h"
#include "collectives/world/world.hpp"

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

/// The heap of this process that peers can map: docs/background/shared_memory.md.
class Heap {
public:
    /// Finds the heap that is preloaded, linked or already loaded; nothing if there is none.
    static std::optional<Heap> find();
    /// Like find(), but loads libtutti_heap.so (located by library_file()) if needed. A heap loaded
    /// this way serves only allocate(); malloc is unchanged.
    static std::optional<Heap> load();

    /// Returns where all of the memory lies; nothing if any of it is outside the heap. Takes a few
    /// ns.
    std::optional<HeapPlace> place_of(std::span<const std::byte> memory) const;
    /// A counter that grows whenever place_of() may answer differently for allocated memory,
    /// because the program has mapped over, protected or freed such memory. Reading it costs one
    /// load.
    std::uint64_t changes() const { return __atomic_load_n(changes_, __ATOMIC_ACQUIRE); }
    /// Allocates `bytes`, in whole pages; null if the heap is off or full.
    std::shared_ptr<std::byte> allocate(std::size_t bytes) const;

private:
    tutti_heap_locate_function* locate_ = nullptr;
    tutti_heap_allocate_function* allocate_ = nullptr;
    tutti_heap_release_function* release_ = nullptr;
    const std::uint64_t* changes_ = nullptr;
};

/// Returns why the ranks cannot load and store memory of each other's heaps; nothing if they can.
/// Threads of one process always can. Collective.
std::optional<std::string> heaps_refuse(World& world);

/// Returns this rank's mappings of the heaps of the ranks' processes. They live as long as the
/// world.
PeerArenas& peer_arenas(World& world);

}  // namespace tutti
