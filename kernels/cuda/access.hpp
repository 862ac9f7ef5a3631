// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace tutti::device {

/// Kind of memory access. `shared`: ordinary loads and stores, for memory that other blocks or
/// devices write. `streamed`: evicted first, for data that is not read again soon.
enum class Access { shared, streamed };

/// 16 bytes as two units of 8, the first in memory first and in the low bits.
struct Packet {
    static constexpr int units = 2;
    std::uint64_t unit[units];
};

}  // namespace tutti::device
