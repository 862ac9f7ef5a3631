// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstring>

namespace tutti {

constexpr std::size_t mega = 1 << 20;

inline bool all_are(const void* memory, std::size_t bytes, unsigned char value) {
    const auto* const begin = static_cast<const unsigned char*>(memory);
    return bytes == 0 || (*begin == value && std::memcmp(begin, begin + 1, bytes - 1) == 0);
}

}  // namespace tutti
