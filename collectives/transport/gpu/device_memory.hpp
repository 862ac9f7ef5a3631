// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "collectives/device/accelerator.hpp"
#include "collectives/world/reachable_memory.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// Registered memory on devices: one piece per rank on its own device, zeroed. Each piece is a
/// separate allocation that peers use by its address: it makes no difference whether they run on
/// the same device, on another one of this process, or in another process.
class DeviceMemory final : public ReachableMemory {
public:
    /// Collective. Throws Error on all ranks if a device has too little memory or a peer cannot
    /// reach it.
    DeviceMemory(World& world, std::shared_ptr<Accelerator> device, std::size_t mine);

    std::span<std::byte> of(Rank rank) const override;
    Accelerator* device() const override { return device_.get(); }

private:
    std::shared_ptr<Accelerator> device_;
    std::vector<std::shared_ptr<std::byte>> pieces_;  // by rank
    std::vector<std::size_t> sizes_;
};

/// Memory of a rank's device that peers reach only by messages: they may be on other hosts, or be
/// other processes that share the device.
class LoneMemory final : public ReachableMemory {
public:
    /// Throws Error if the device has too little memory.
    LoneMemory(Rank me, std::shared_ptr<Accelerator> device, std::size_t bytes)
        : ReachableMemory(me),
          device_(std::move(device)),
          bytes_(bytes),
          memory_(allocated(device_, std::max<std::size_t>(bytes, 1))) {}

    /// Returns an empty span for peers.
    std::span<std::byte> of(Rank rank) const override {
        return rank == me_ ? std::span(memory_.get(), bytes_) : std::span<std::byte>();
    }
    Accelerator* device() const override { return device_.get(); }

private:
    std::shared_ptr<Accelerator> device_;
    std::size_t bytes_;
    std::shared_ptr<std::byte> memory_;
};

/// Allocates memory of this rank's GPU (see gpu_number). Throws Error on all ranks if one has no
/// GPU or too little memory. Collective.
std::unique_ptr<ReachableMemory> lone_gpu_memory(World& world, std::size_t bytes);

/// Allocates host memory that this rank's GPU can copy from and to by itself. Throws as
/// lone_gpu_memory() does. Collective.
std::shared_ptr<std::byte> lone_pinned_memory(World& world, std::size_t bytes);

}  // namespace tutti
