// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

namespace tutti::hosts {

/// One direction of a cable with a rate and a delay.
struct Link {
    double bits_per_second = 0;  ///< 0: no limit
    std::int64_t delay_ns = 0;
    std::int64_t queue_bytes = 0;  ///< bytes that may wait; more are dropped

    std::int64_t free_at = 0;  ///< when the last frame has left

    std::int64_t time_of(std::int64_t bytes) const {
        return bits_per_second == 0 ? 0 : static_cast<std::int64_t>(8e9 * bytes / bits_per_second);
    }

    /// Returns how long a frame would wait now.
    std::int64_t wait(std::int64_t now) const { return std::max<std::int64_t>(0, free_at - now); }

    bool is_full(std::int64_t now) const {
        return bits_per_second != 0 && wait(now) > time_of(queue_bytes);
    }

    /// Sends a burst of frames whose first arrives at `now` and whose last, `frame` bytes long, at
    /// `last`. Returns when the last has left completely, and sets `first` to the time for the
    /// first. A switch forwards a frame when it has received all of it.
    std::int64_t take(std::int64_t now, std::int64_t last, std::int64_t bytes, std::int64_t frame,
                      std::int64_t& first) {
        const std::int64_t start = std::max(now, free_at);
        first = start + time_of(std::min(bytes, frame));
        free_at = std::max(start + time_of(bytes), last + time_of(std::min(bytes, frame)));
        return free_at;
    }
};

}  // namespace tutti::hosts
