// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)
namespace tutti {

/// Exit codes of the command; scripts rely on these numbers.
enum class Exit : int {
    ok = 0,
    regression = 1,
    wrong_result = 2,
    not_comparable = 3,
    time_out = 4,
    rank_lost = 5,
    usage = 64,
};

/// A request that cannot be fulfilled. The text is one line: the request, the cause and what to use
/// instead. Thrown during setup, never in the timed loop.
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
