// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
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

}  // namespace tutti
