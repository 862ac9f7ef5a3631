// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/ids.hpp"

namespace tutti {

/// A run of neighbouring chunks of the message. Count 0 is allowed and means nothing.
struct Chunks {
    int first = 0;
    int count = 1;
    auto operator<=>(const Chunks&) const = default;
};

/// The chunk that belongs to rank r, where the message has one chunk per rank.
constexpr Chunks chunk_of(Rank r) { return {r.index, 1}; }

/// All of a message that is not cut: its one chunk.
inline constexpr Chunks whole_message{0, 1};

/// What a receiver does with what arrives: put it in place of its own, or combine the two.
enum class Action : std::uint8_t { copy, reduce };

/// One message: `to` overwrites its chunks (copy) or combines the arriving ones in (reduce).
/// The data is what `from` held when it entered the step. `from` may equal `to`: a rank's own
/// chunk then takes this place in the order of addition.
struct Transfer {
    Chunks chunks;
    Rank from;
    Rank to;
    Action action = Action::copy;
    auto operator<=>(const Transfer&) const = default;
};

}  // namespace tutti
