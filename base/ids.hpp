// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>

#pragma GCC visibility push(default)
namespace tutti {

/// One participant of a collective, counted from 0. A name, not a number: `Ring` does arithmetic
/// with it.
struct Rank {
    int index = 0;
    auto operator<=>(const Rank&) const = default;
};

}  // namespace tutti
#pragma GCC visibility pop
