// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "collectives/world/reachable_memory.hpp"
#include "collectives/world/shared_file.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// Registered memory on one host, in huge pages where the system offers them.
/// It has no name in any file system, so nothing remains however the ranks end.
class SharedMemory final : public ReachableMemory {
public:
    /// Collective. Every rank contributes `mine` bytes (sizes may differ; zeroed, page-aligned).
    /// Throws Error if ranks are on several hosts or the peers' memory cannot be mapped.
    SharedMemory(World& world, std::size_t mine);

    std::span<std::byte> of(Rank rank) const override;

private:
    void share_by_pointer(World& world, std::size_t size);
    void share_by_file(World& world, std::size_t size);

    std::vector<std::shared_ptr<const SharedMapping>> pieces_;  // by rank
};

}  // namespace tutti
