// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/reachable_memory.hpp"

#include <cstdint>

namespace tutti {

std::optional<std::size_t> ReachableMemory::offset_of(std::span<const std::byte> part) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(mine().data());
    const auto from = reinterpret_cast<std::uintptr_t>(part.data());
    if (from < begin || from + part.size() > begin + mine().size()) return std::nullopt;
    return from - begin;
}

}  // namespace tutti
