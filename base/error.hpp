// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)
namespace tutti {

/// How the command ends; scripts rely on these numbers.
enum class Exit : int {
    ok = 0,
    regression = 1,
    wrong_result = 2,
    not_comparable = 3,
    time_out = 4,
    rank_lost = 5,
    usage = 64,
};

/// What was asked cannot be done. The text is one line: what was asked, and what to type instead.
/// Thrown while setting up, never by the timed loop.
class Error : public std::runtime_error {
public:
    explicit Error(const std::string& text, Exit code = Exit::usage)
        : std::runtime_error(text), code_(code) {}
    Exit code() const { return code_; }

private:
    Exit code_;
};

}  // namespace tutti
#pragma GCC visibility pop
