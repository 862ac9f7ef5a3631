// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "workloads/models/buckets.hpp"
#include "workloads/models/compute_times.hpp"
#include "workloads/scenarios/workload.hpp"

namespace tutti {

/// A network that carries one message at a time: n bytes take latency + n / bandwidth.
struct NetworkModel {
    double latency_ns = 0;
    double ns_per_byte = 0;

    double ns_of(Bytes message) const {
        return latency_ns + ns_per_byte * static_cast<double>(message.count);
    }
    bool operator==(const NetworkModel&) const = default;
};

/// Parses "100us+1.25GB/s". Throws Error for anything else.
NetworkModel parse_network_model(std::string_view text);

/// Returns the network on which two messages of different sizes take these times; a negative
/// latency or time per byte becomes 0.
NetworkModel network_model_through(Bytes small, double small_ns, Bytes large, double large_ns);

/// A message, and the time when it may be sent.
struct TimedMessage {
    std::int64_t ready_ns = 0;
    Bytes bytes;
};

/// Returns the time between the end of computing and the arrival of the last message, if each is
/// sent once it is ready and the previous ones have arrived. Ignores that collectives slow down
/// computing.
double exposed_ns(std::span<const TimedMessage> messages, std::int64_t end_ns,
                  const NetworkModel& network);

/// A cap of buckets, and its exposed communication as the mean of recorded steps.
struct CapTrial {
    BucketCaps caps;
    std::size_t buckets = 0;
    double exposed_ns = 0;
};

/// Tries caps from 256 KiB by powers of two, and PyTorch's 25 MiB, up to the first that holds all
/// gradients. The first bucket is closed at `first`, or at the cap if that is smaller. `counts` and
/// the times are in the order in which gradients become ready.
std::vector<CapTrial> try_caps(std::span<const std::int64_t> counts, Bytes element, Bytes first,
                               std::span<const ComputeTimes> times, const NetworkModel& network);

/// Returns the cap with the least exposed communication; among equals the largest, because fewer
/// messages cost less in ways that the model of the network ignores.
const CapTrial& best_of(std::span<const CapTrial> tried);

/// Fits a network to float32 all-reduces by the first method that can do them: through the medians
/// of 64 KiB and of 32 MiB on the slowest rank. Collective. Throws Error if no method can.
NetworkModel measured_network_model(const WorkloadEnvironment& environment);

}  // namespace tutti
