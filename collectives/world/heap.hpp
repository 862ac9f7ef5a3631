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
    /// The one that is preloaded, linked, or was loaded before; nothing if there is none.
    static std::optional<Heap> find();
    /// The same, or else libtutti_heap.so from where library_file() finds it. Then
    /// it serves those who ask for it by allocate(), and malloc stays what it is.
    static std::optional<Heap> load();

    /// Where all of the memory is; nothing if (some of) it is not in the heap. A few ns.
    std::optional<HeapPlace> place_of(std::span<const std::byte> memory) const;
    /// A counter. It grows whenever place_of() may answer differently for allocated memory, because
    /// the program has mapped over, protected or freed such memory. Reading it costs one load.
    std::uint64_t changes() const { return __atomic_load_n(changes_, __ATOMIC_ACQUIRE); }
    /// So many bytes, in whole pages; null if the heap is off or has no room.
    std::shared_ptr<std::byte> allocate(std::size_t bytes) const;

private:
    tutti_heap_locate_function* locate_ = nullptr;
    tutti_heap_allocate_function* allocate_ = nullptr;
    tutti_heap_release_function* release_ = nullptr;
    const std::uint64_t* changes_ = nullptr;
};

/// Why the ranks cannot load and store memory of each other's heaps; nothing if they can, and
/// threads of one process always can. Collective.
std::optional<std::string> heaps_refuse(World& world);

/// The heaps of the ranks' processes, as this rank has them. It lives as long as the world.
PeerArenas& peer_arenas(World& world);

}  // namespace tutti
