// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/short_copy.hpp"

namespace tutti {

/// memcpy for copies that may be long. From about the size of a second-level cache on, a
/// processor's string instructions, which memcpy uses, bypass the caches: the result must then be
/// fetched again from memory, by its owner or a peer, and dirty lines of the overwritten data are
/// still written back. Smaller blocks avoid that. On 2 cores of an EPYC (1 MiB of second-level
/// cache each), a rank that copies 4 MiB of its own and reads the same amount from its peer through
/// the kernel takes 155 instead of 167 us, or 230 instead of 283 if they have just been written;
/// with 32 MiB 2.9 instead of 3.1 ms.
inline void copy_in_blocks(std::byte* to, const std::byte* from, std::size_t bytes) {
    constexpr std::size_t block = 256 * 1024;
    if (bytes <= block) return copy_short(to, from, bytes);
    for (std::size_t done = 0; done < bytes; done += block)
        std::memcpy(to + done, from + done, std::min(block, bytes - done));
}

}  // namespace tutti
