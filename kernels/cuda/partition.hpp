// SPDX-License-Identifier: Apache-2.0
// How a pass over device memory is cut, as arithmetic that the host can test.
#pragma once
#include <cstdint>

namespace tutti::device {

/// The most that a thread loads or stores at once.
inline constexpr std::int64_t packet_bytes = 16;

/// `head` elements, then `packets` of 16 bytes, then `tail` elements; together all of them.
struct Partition {
    std::int64_t head = 0;
    std::int64_t packets = 0;
    std::int64_t tail = 0;
    bool aligned = false;  // every packet starts at a multiple of 16 in every operand
};

/// The cut of `count` elements of `element_bytes` (a power of two up to 8). `address` is where one
/// operand starts; `differences` the bitwise or of what the other operands' addresses differ from
/// it by (exclusive or). Packets are aligned where some whole number of elements leads to a
/// multiple of 16 in all operands together; otherwise the packets start at once.
constexpr Partition partition(std::uint64_t address, std::uint64_t differences,
                              std::int64_t element_bytes, std::int64_t count) {
    constexpr std::uint64_t low = packet_bytes - 1;
    const std::int64_t per_packet = packet_bytes / element_bytes;
    const auto to_boundary = static_cast<std::int64_t>(-address & low);
    Partition cut;
    cut.aligned = (differences & low) == 0 && to_boundary % element_bytes == 0;
    cut.head = cut.aligned ? to_boundary / element_bytes : 0;
    if (cut.head > count) cut.head = count;
    cut.packets = (count - cut.head) / per_packet;
    cut.tail = count - cut.head - cut.packets * per_packet;
    return cut;
}

}  // namespace tutti::device
