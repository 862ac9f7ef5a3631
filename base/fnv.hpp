// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti {

inline constexpr std::uint64_t fnv1a_of_nothing = 0xcbf29ce484222325U;

/// FNV-1a: the same in every build, so also where ranks run different ones. Of `before` and these
/// bytes behind it.
inline std::uint64_t fnv1a(std::span<const std::byte> bytes,
                           std::uint64_t before = fnv1a_of_nothing) {
    std::uint64_t hash = before;
    for (const std::byte byte : bytes)
        hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
    return hash;
}

}  // namespace tutti
