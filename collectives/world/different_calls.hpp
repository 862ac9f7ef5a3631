// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/error.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// The ranks make different calls. They no longer agree on the order of calls, so they cannot
/// continue.
class DifferentCalls : public Error {
public:
    explicit DifferentCalls(const std::string& text) : Error(text, Exit::rank_lost) {}
};

}  // namespace tutti
#pragma GCC visibility pop
