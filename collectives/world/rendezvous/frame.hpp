// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti {

/// The kind of a message between rank 0 and another rank.
enum class FrameKind : std::uint32_t {
    // Collective calls that the sender has entered; their data follow.
    barrier,
    all_gather,
    broadcast,
    // Other messages from rank 0.
    absent,  ///< rank 0 gives up; the ranks that it waited for follow, as int32
    lost,    ///< a rank is lost; its number follows, as int32
    // Other messages to rank 0.
    roll_call,  ///< asks which ranks are absent
    goodbye     ///< this rank ends normally
};

/// The header of every message.
struct Frame {
    FrameKind kind = FrameKind::barrier;
    std::uint32_t call = 0;  ///< number of the call; 0 for other messages
    std::uint64_t bytes = 0;

    bool operator==(const Frame&) const = default;
};

/// Returns the bytes of a header, to send or receive it. T is trivially copyable.
template <class T>
std::span<std::byte> bytes_of(T& value) {
    return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace tutti
