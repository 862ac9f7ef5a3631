// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/gpu/device_memory.hpp"

#include "base/index.hpp"
#include "collectives/device/gpus.hpp"
#include "collectives/device/memory_device.hpp"
#include "collectives/transport/gpu/gpu_placement.hpp"

namespace tutti {
namespace {

constexpr std::size_t line = 256;

}  // namespace

DeviceMemory::DeviceMemory(World& world, std::shared_ptr<Accelerator> device, std::size_t mine)
    : ReachableMemory(world.rank()), device_(std::move(device)), sizes_(gather_all(world, mine)) {
    const auto own = make_on_all_ranks(world, "device memory",
                                       [&] { return allocated(device_, std::max(mine, line)); });
    if (world.one_process()) {
        for (const auto* of_rank : gather_all<const std::shared_ptr<std::byte>*>(world, &own))
            pieces_.push_back(*of_rank);
        world.barrier();  // until then the peers read `own`
        return;
    }
    const auto keys = gather_all(world, device_->key_of(own.get()));
    pieces_ = make_on_all_ranks(world, "device memory", [&] {
        std::vector<std::shared_ptr<std::byte>> pieces;
        const auto close = [device = device_](std::byte* memory) { device->close(memory); };
        for (const DeviceKey& key : keys)
            pieces.push_back(pieces.size() == as_size(me_)
                                 ? own
                                 : std::shared_ptr<std::byte>(device_->open(key), close));
        return pieces;
    });
}

std::span<std::byte> DeviceMemory::of(Rank rank) const {
    const auto i = as_size(rank);
    return {pieces_[i].get(), sizes_[i]};
}

std::unique_ptr<ReachableMemory> lone_gpu_memory(World& world, std::size_t bytes) {
    return make_on_all_ranks(world, "device buffers", [&]() -> std::unique_ptr<ReachableMemory> {
        return std::make_unique<LoneMemory>(world.rank(), own_gpu(world), bytes);
    });
}

std::shared_ptr<std::byte> lone_pinned_memory(World& world, std::size_t bytes) {
    return make_on_all_ranks(world, "pinned buffers",
                             [&] { return gpu_memory(gpu_number(world))->pinned(bytes); });
}

}  // namespace tutti
