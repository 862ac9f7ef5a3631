// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "collectives/device/accelerator.hpp"
#include "collectives/world/reachable_memory.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// Registered memory on devices: a piece per rank on its own device, zeroed. Each piece is an
/// allocation of its own, and peers know it by nothing but its address: whether they run on the
/// same device, on another of this process, or in another process makes no difference to them.
class DeviceMemory final : public ReachableMemory {
public:
    /// Collective. Throws Error, on all ranks alike, if a device has not so much or a peer cannot
    /// reach it.
    DeviceMemory(World& world, std::shared_ptr<Accelerator> device, std::size_t mine);

    std::span<std::byte> of(Rank rank) const override;
    Accelerator* device() const override { return device_.get(); }

private:
    std::shared_ptr<Accelerator> device_;
    std::vector<std::shared_ptr<std::byte>> pieces_;  // by rank
    std::vector<std::size_t> sizes_;
};

}  // namespace tutti
