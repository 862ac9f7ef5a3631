// SPDX-License-Identifier: Apache-2.0
// How passes on a GPU are cut, tested without a GPU. That they visit every element once is tested
// by device_pass_test.cpp.
#include "kernels/cuda/partition.hpp"

#include <gtest/gtest.h>

namespace tutti::device {

TEST(Partition, LeavesLessThanAPacketAtEitherEnd) {
    for (std::int64_t bytes : {1, 2, 4, 8})
        for (std::uint64_t address = 0; address < 32; ++address)
            for (std::int64_t count = 0; count < 70; ++count) {
                const Partition cut = partition(address, 0, bytes, count);
                EXPECT_LT(cut.head * bytes, packet_bytes);
                EXPECT_LT(cut.tail * bytes, packet_bytes);
            }
}

// Aligned if a whole number of elements leads to a multiple of 16 in every operand, and only then:
// otherwise a 16-byte load would fault.
TEST(Partition, PacketsAreAlignedInAllOperandsWheneverTheyCanBe) {
    for (std::int64_t bytes : {1, 2, 4, 8})
        for (std::uint64_t address = 0; address < 32; ++address)
            for (std::uint64_t other = 0; other < 32; ++other) {
                const std::int64_t count = 100;
                bool possible = false;
                for (std::int64_t head = 0; head < packet_bytes; ++head) {
                    const auto skip = static_cast<std::uint64_t>(head * bytes);
                    possible |= (address + skip) % 16 == 0 && (other + skip) % 16 == 0;
                }
                const Partition cut = partition(address, address ^ other, bytes, count);
                const auto start = static_cast<std::uint64_t>(cut.head * bytes);
                EXPECT_EQ(cut.aligned, possible) << address << " and " << other;
                EXPECT_TRUE(!cut.aligned ||
                            ((address + start) % 16 == 0 && (other + start) % 16 == 0))
                    << address << " and " << other;
            }
}

TEST(CastPartition, PacketsAreAlignedInBothOperands) {
    for (std::int64_t bytes : {1, 2})
        for (std::uint64_t narrow = 0; narrow < 32; ++narrow)
            for (std::uint64_t floats = 0; floats < 32; ++floats)
                for (std::int64_t count : {0, 1, 7, 15, 16, 17, 40, 69}) {
                    const Partition cut = cast_partition(narrow, floats, bytes, count);
                    if (cut.packets == 0) continue;
                    const auto skip = static_cast<std::uint64_t>(cut.head);
                    EXPECT_EQ((narrow + skip * static_cast<std::uint64_t>(bytes)) % 16, 0u);
                    EXPECT_EQ((floats + skip * 4) % 16, 0u);
                }
}

// Arrays that begin at the same element of aligned ones, like parts of a message.
TEST(CastPartition, PartsOfAlignedArraysArePackets) {
    for (std::int64_t bytes : {1, 2})
        for (std::uint64_t element = 0; element < 32; ++element) {
            const Partition cut = cast_partition(element * static_cast<std::uint64_t>(bytes),
                                                 element * sizeof(float), bytes, 100);
            EXPECT_GE(cut.packets, 100 * bytes / packet_bytes - 1) << element;
        }
}

}  // namespace tutti::device
