// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "workloads/models/buckets.hpp"
#include "workloads/models/ready_times.hpp"
#include "workloads/program/exposed.hpp"
#include "workloads/scenarios/workload.hpp"

namespace tutti {

/// A cap of buckets and what it leaves exposed, in the mean of the recorded steps.
struct CapTried {
    BucketCaps caps;
    std::size_t buckets = 0;
    double exposed_ns = 0;
};

/// Caps from 256 KiB by powers of two, and PyTorch's 25 MiB, up to the first that holds all of the
/// gradients. The first bucket is closed at `first`, or at the cap where that is smaller. `counts`
/// and the times are in the order in which gradients become ready.
std::vector<CapTried> try_caps(std::span<const std::int64_t> counts, Bytes element, Bytes first,
                               std::span<const ComputeTimes> times, const Channel& channel);

/// Of those, the one that leaves least exposed; of equal ones the largest, as fewer messages cost
/// less of what the channel does not know.
const CapTried& best_of(std::span<const CapTried> tried);

/// The channel that the group's all-reduces of float32 are by the first of the ways that can do
/// them: through the medians of 64 KiB and of 32 MiB, of the slowest rank. Collective. Throws Error
/// where there is no such way.
Channel measured_channel(const WorkloadEnvironment& environment);

}  // namespace tutti
