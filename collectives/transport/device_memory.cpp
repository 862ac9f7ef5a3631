// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/device_memory.hpp"

#include <algorithm>

namespace tutti {
namespace {

constexpr std::size_t line = 256;

template <class Make>
std::shared_ptr<std::byte> made(std::string& problem, Make make) {
    try {
        return make();
    } catch (const Error& error) {
        problem = error.what();
        return nullptr;
    }
}

void agree(World& world, const std::string& problem) {
    agree_on(world, "memory of devices", problem.empty() ? nullptr : problem.c_str());
}

}  // namespace

DeviceMemory::DeviceMemory(World& world, std::shared_ptr<Accelerator> device, std::size_t mine)
    : ReachableMemory(world.rank()), device_(std::move(device)), sizes_(gathered(world, mine)) {
    std::string problem;
    const auto own = made(problem, [&] { return allocated(device_, std::max(mine, line)); });
    agree(world, problem);
    if (world.one_process()) {
        for (const auto* of_rank : gathered<const std::shared_ptr<std::byte>*>(world, &own))
            pieces_.push_back(*of_rank);
        world.barrier();  // until then the peers look at `own`
        return;
    }
    for (const DeviceKey& key : gathered(world, device_->key_of(own.get()))) {
        const bool is_mine = pieces_.size() == static_cast<std::size_t>(me_.index);
        pieces_.push_back(is_mine ? own : made(problem, [&] {
            const auto close = [device = device_](std::byte* memory) { device->close(memory); };
            return std::shared_ptr<std::byte>(device_->open(key), close);
        }));
    }
    agree(world, problem);
}

std::span<std::byte> DeviceMemory::of(Rank rank) const {
    const auto i = static_cast<std::size_t>(rank.index);
    return {pieces_[i].get(), sizes_[i]};
}

}  // namespace tutti
