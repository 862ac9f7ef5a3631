// SPDX-License-Identifier: Apache-2.0
// How a pass over device memory is cut, as arithmetic that can be tested on the host.
#pragma once
#include <cstdint>

namespace tutti::device {

/// Maximum size of one load or store of a thread.
inline constexpr std::int64_t packet_bytes = 16;

/// `head` elements, then `packets` of 16 bytes, then `tail` elements; together all elements.
struct Partition {
    std::int64_t head = 0;
    std::int64_t packets = 0;
    std::int64_t tail = 0;
    bool aligned = false;  // every packet starts at a multiple of 16 in every operand
};

/// Cuts `count` elements of `element_bytes` (a power of two up to 8). `address` is the start of one
/// operand; `differences` is the bitwise or of its exclusive or with each other operand's address.
/// Packets are aligned if some whole number of elements leads to a multiple of 16 in all operands;
/// otherwise the packets start at once.
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

/// Returns the element with number `end`, below head + tail, of head and tail.
constexpr std::int64_t element_of_end(const Partition& cut, std::int64_t end,
                                      std::int64_t element_bytes) {
    return end < cut.head ? end : end + cut.packets * (packet_bytes / element_bytes);
}

/// Cuts a cast of `count` elements between `narrow`, of `narrow_bytes` each (1 or 2), and `floats`:
/// into packets of narrow elements, aligned in both; or, if that is impossible, into a head only.
constexpr Partition cast_partition(std::uint64_t narrow, std::uint64_t floats,
                                   std::int64_t narrow_bytes, std::int64_t count) {
    constexpr std::uint64_t low = packet_bytes - 1;
    const std::int64_t per_packet = packet_bytes / narrow_bytes;
    for (std::int64_t head = 0; head < per_packet && head <= count; ++head) {
        const auto skip = static_cast<std::uint64_t>(head);
        const std::uint64_t both = (narrow + skip * static_cast<std::uint64_t>(narrow_bytes)) |
                                   (floats + skip * sizeof(float));
        if ((both & low) != 0) continue;
        const std::int64_t packets = (count - head) / per_packet;
        return {head, packets, count - head - packets * per_packet, true};
    }
    return {count, 0, 0, false};
}

/// Kind of memory access. `shared`: ordinary loads and stores, for memory that other blocks or
/// devices write. `streamed`: evicted first, for data that is not read again soon.
enum class Access { shared, streamed };

/// 16 bytes as two units of 8, the first in memory first and in the low bits.
struct Packet {
    static constexpr int units = 2;
    std::uint64_t unit[units];
};

}  // namespace tutti::device
