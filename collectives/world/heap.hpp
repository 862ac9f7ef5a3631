// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "collectives/world/peer_arenas.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// The heap of this process that peers can map: docs/background/heap.md.
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
