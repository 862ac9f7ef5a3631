// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace tutti {

/// The least time that a message of so many bytes took one way.
struct MessageTime {
    std::int64_t bytes = 0;
    double ns = 0;
};

/// time = latency + bytes / bandwidth.
struct LinkFit {
    double latency_ns = 0;
    double gbps = 0;
    double residual = 0;  ///< median of |measured - line| / measured
};

/// Through times in ascending order of size. The bandwidth is the median slope of all pairs of large
/// messages (Theil-Sen, 64 KiB and more; of all messages if there are fewer than two): a line through
/// least times still has wrong points, such as a size at which the library changes its protocol, and
/// weights would let the largest message decide alone. The latency is the least of what is left of
/// the times of small messages (up to 1 KiB) without their bytes: a line through large ones would
/// have its begin anywhere.
LinkFit fit_link(std::span<const MessageTime> times);

}  // namespace tutti
