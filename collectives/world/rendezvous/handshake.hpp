// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace tutti {

/// What begins each side's first words. It stays in this place in all versions, so that any two of
/// them can tell each other.
struct HandshakeHead {
    static constexpr std::uint64_t tutti = 0x69747475'74767a72U;
    static constexpr std::uint32_t this_version = 2;

    std::uint64_t magic = tutti;
    std::uint32_t version = this_version;

    bool is_of_tutti() const { return magic == tutti; }
};

/// What a rank says when it has connected to rank 0.
struct Hello {
    HandshakeHead head;
    std::int32_t rank = 0;
    std::int32_t size = 0;
    std::int32_t process = 0;
    std::uint64_t job = 0;  ///< a hash of the job's id, whatever that is
};

enum class Admission : std::uint32_t {
    admitted,  ///< all ranks are there
    refused,   ///< the hello was wrong
    too_late   ///< others did not come before the deadline
};

/// What rank 0 answers: to a wrong hello at once, to the others when all have come.
struct Answer {
    HandshakeHead head = {};
    Admission admission = Admission::admitted;
    char why[232] = {};  ///< it is not admitted; ends with 0

    static Answer no(Admission admission, const std::string& why) {
        Answer answer{.admission = admission};
        why.copy(answer.why, sizeof answer.why - 1);
        return answer;
    }
};

}  // namespace tutti
