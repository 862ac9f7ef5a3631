// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/host_memory.hpp"

#include <vector>

#include "base/index.hpp"
#include "collectives/world/shared_memory.hpp"

namespace tutti {
namespace {

// Memory of the ranks of a host, by their ranks in the whole world.
class OfHost final : public ReachableMemory {
public:
    OfHost(const World& world, std::unique_ptr<ReachableMemory> memory)
        : ReachableMemory(world.rank()), memory_(std::move(memory)), of_(as_size(world.size())) {
        int place = 0;
        for (const Rank rank : world.ranks_of_host()) at(of_, rank) = memory_->of(Rank{place++});
    }

    std::span<std::byte> of(Rank rank) const override { return at(of_, rank); }

private:
    std::unique_ptr<ReachableMemory> memory_;
    std::vector<std::span<std::byte>> of_;
};

}  // namespace

World& host_world(World& world) {
    struct Part {
        std::unique_ptr<World> world;
    };
    if (world.one_host()) return world;
    return *world.attribute<Part>([&] { return std::make_unique<Part>(world.of_host()); }).world;
}

std::unique_ptr<ReachableMemory> for_world(const World& world,
                                           std::unique_ptr<ReachableMemory> of_host) {
    if (world.one_host()) return of_host;
    return std::make_unique<OfHost>(world, std::move(of_host));
}

std::unique_ptr<ReachableMemory> host_memory(World& world, std::size_t mine) {
    if (world.one_host()) return std::make_unique<SharedMemory>(world, mine);
    // If it fails on one host, it does so on all.
    return for_world(world, make_on_all_ranks(world, "memory of a host", [&] {
                         return std::make_unique<SharedMemory>(host_world(world), mine);
                     }));
}

}  // namespace tutti
