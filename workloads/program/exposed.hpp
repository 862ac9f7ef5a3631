// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "base/units.hpp"

namespace tutti {

/// A network that carries one message at a time: n bytes take latency + n / bandwidth.
struct Channel {
    double latency_ns = 0;
    double ns_per_byte = 0;

    double ns_of(Bytes message) const {
        return latency_ns + ns_per_byte * static_cast<double>(message.count);
    }
    bool operator==(const Channel&) const = default;
};

/// "100us+1.25GB/s". Throws Error for anything else.
Channel parse_channel(std::string_view text);

/// The channel on which two messages of different sizes take these times; never faster than none.
Channel channel_through(Bytes small, double small_ns, Bytes large, double large_ns);

/// A message, and when it may be sent.
struct TimedMessage {
    std::int64_t ready_ns = 0;
    Bytes bytes;
};

/// How long after the end of computing the last message has arrived, if each is sent once it is
/// ready and those before it have arrived: what is not hidden behind computing that ends at `end`.
/// What a collective takes from computing is left out.
double exposed_ns(std::span<const TimedMessage> messages, std::int64_t end_ns,
                  const Channel& channel);

}  // namespace tutti
