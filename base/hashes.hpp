// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tutti {

/// Returns the SHA-256 digest of `text` (FIPS 180-4) as 64 hexadecimal digits.
std::string sha256(std::string_view text);

inline constexpr std::uint64_t fnv1a_start = 0xcbf29ce484222325U;

/// Returns the FNV-1a hash of `bytes`, or continues the hash `before` with them. It is the same in
/// every build, so ranks that run different builds can compare it.
inline std::uint64_t fnv1a(std::span<const std::byte> bytes, std::uint64_t before = fnv1a_start) {
    std::uint64_t hash = before;
    for (const std::byte byte : bytes)
        hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
    return hash;
}

}  // namespace tutti
