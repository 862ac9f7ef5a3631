// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "collectives/transport/world.hpp"

namespace tutti {

/// A piece of memory per rank that every rank of the host can load and store: "registered" memory.
/// In huge pages where the system offers them.
/// It has no name in any file system, so nothing is left behind however the ranks end.
class SharedMemory {
public:
    /// Collective. Every rank contributes `mine` bytes (sizes may differ; zeroed, page-aligned).
    /// Throws Error if ranks are on several hosts or the peers' memory cannot be mapped.
    SharedMemory(World& world, std::size_t mine);

    std::span<std::byte> mine() const { return of(me_); }
    std::span<std::byte> of(Rank rank) const;

    /// Where `part` begins within this rank's piece; nothing if it lies (partly) outside.
    std::optional<std::size_t> offset_of(std::span<const std::byte> part) const;

    class Mapping;

private:
    struct OwnFile;
    void share_by_pointer(World& world, std::size_t size);
    void share_by_file(World& world, std::size_t size);

    Rank me_;
    std::vector<std::shared_ptr<const Mapping>> pieces_;  // by rank
};

}  // namespace tutti
