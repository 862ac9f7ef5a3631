// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/shared_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/index.hpp"
#include "collectives/world/shared_file.hpp"

namespace tutti {
namespace {

constexpr const char* what = "shared memory";

}  // namespace

SharedMemory::SharedMemory(World& world, std::size_t mine) : ReachableMemory(world.rank()) {
    if (!world.one_host()) throw Error(fmt::format("{}: the ranks are on several hosts", what));
    if (world.one_process())
        share_by_pointer(world, mine);
    else
        share_by_file(world, mine);
}

// Threads share the mappings themselves: each stays until the last rank releases it.
void SharedMemory::share_by_pointer(World& world, std::size_t size) {
    const std::shared_ptr<const SharedMapping> piece = std::make_shared<SharedMapping>(size);
    for (const auto* of_rank :
         gather_all<const std::shared_ptr<const SharedMapping>*>(world, &piece))
        pieces_.push_back(*of_rank);
    world.barrier();
    if (std::ranges::any_of(pieces_, [](const auto& one) { return one->failed(); }))
        throw Error(fmt::format("{}: out of memory", what));
}

void SharedMemory::share_by_file(World& world, std::size_t size) {
    const SharedFile own(size);
    const auto keys = gather_all(world, own.key());
    for (const SharedFile::Key& key : keys) require_memory(key);
    make_on_all_ranks(world, what, [&] {
        for (const SharedFile::Key& key : keys) pieces_.push_back(map_shared_file(key));
        return true;
    });
}

std::span<std::byte> SharedMemory::of(Rank rank) const { return at(pieces_, rank)->bytes(); }

}  // namespace tutti
