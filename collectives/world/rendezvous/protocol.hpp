// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tutti {

/// The first bytes of each side's first message. Their layout is the same in all versions, so that
/// different versions recognize each other.
struct HandshakeHead {
    static constexpr std::uint64_t tutti = 0x69747475'74767a72U;
    static constexpr std::uint32_t this_version = 2;

    std::uint64_t magic = tutti;
    std::uint32_t version = this_version;

    bool is_of_tutti() const { return magic == tutti; }
};

/// The first message of a rank that has connected to rank 0.
struct Hello {
    HandshakeHead head;
    std::int32_t rank = 0;
    std::int32_t size = 0;
    std::int32_t process = 0;
    std::uint64_t job = 0;  ///< hash of the job's id
};

enum class Admission : std::uint32_t {
    admitted,  ///< all ranks have joined
    refused,   ///< the hello was wrong
    too_late   ///< other ranks did not join before the deadline
};

/// Rank 0's answer: sent at once to a wrong hello, and to the others when all have joined.
struct Answer {
    HandshakeHead head = {};
    Admission admission = Admission::admitted;
    char why[232] = {};  ///< reason if not admitted; ends with 0

    static Answer no(Admission admission, const std::string& why) {
        Answer answer{.admission = admission};
        why.copy(answer.why, sizeof answer.why - 1);
        return answer;
    }
};

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
