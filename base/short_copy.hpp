// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tutti {

/// Copies like memcpy, but without a call if it is 8 bytes, the most frequent length.
inline void copy_short(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes == sizeof(std::uint64_t))
        std::memcpy(to, from, sizeof(std::uint64_t));
    else
        std::memcpy(to, from, bytes);
}

}  // namespace tutti
