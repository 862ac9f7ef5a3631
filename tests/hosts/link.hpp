// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

namespace tutti::hosts {

/// One direction of a cable: frames leave one after the other at a rate, and arrive after a delay.
struct Link {
    double bits_per_second = 0;  ///< 0: no limit
    std::int64_t delay_ns = 0;
    std::int64_t queue_bytes = 0;  ///< what may wait for its turn; more is dropped

    std::int64_t free_at = 0;  ///< when the last frame that it took has left

    std::int64_t time_of(std::int64_t bytes) const {
        return bits_per_second == 0 ? 0 : static_cast<std::int64_t>(8e9 * bytes / bits_per_second);
    }

    /// How long a frame that comes now would wait.
    std::int64_t wait(std::int64_t now) const { return std::max<std::int64_t>(0, free_at - now); }

    bool is_full(std::int64_t now) const {
        return bits_per_second != 0 && wait(now) > time_of(queue_bytes);
    }

    /// Takes a burst of frames whose first is here at `now` and whose last, `frame` bytes long, is
    /// here at `last`. Returns when the end of the last has left; `first` becomes when the end of
    /// the first has. A switch sends a frame on when it has all of it.
    std::int64_t take(std::int64_t now, std::int64_t last, std::int64_t bytes, std::int64_t frame,
                      std::int64_t& first) {
        const std::int64_t start = std::max(now, free_at);
        first = start + time_of(std::min(bytes, frame));
        free_at = std::max(start + time_of(bytes), last + time_of(std::min(bytes, frame)));
        return free_at;
    }
};

}  // namespace tutti::hosts
