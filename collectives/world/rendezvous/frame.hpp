// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti {

/// What a frame between rank 0 and another rank is about.
enum class FrameKind : std::uint32_t {
    // What a rank has come to; its data follow.
    barrier,
    all_gather,
    broadcast,
    // What rank 0 says besides.
    absent,  ///< it has given up; the ranks that it waited for follow, as int32
    lost,    ///< a rank is lost; its number follows, as int32
    // What the others say besides.
    roll_call,  ///< who is absent?
    goodbye     ///< this rank ends as it should
};

/// Stands before the data of every message.
struct Frame {
    FrameKind kind = FrameKind::barrier;
    std::uint32_t call = 0;  ///< its number; of what is said besides 0
    std::uint64_t bytes = 0;

    bool operator==(const Frame&) const = default;
};

/// A head as it travels. T is trivially copyable.
template <class T>
std::span<std::byte> bytes_of(T& value) {
    return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace tutti
