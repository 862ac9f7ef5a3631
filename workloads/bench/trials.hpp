// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "workloads/bench/buffer_pool.hpp"
#include "workloads/bench/candidates.hpp"
#include "workloads/timing/measure.hpp"

namespace tutti {

/// A trial whose results are checked with rank-distinct data, or with `check` off are not.
Trial trial_of(Operation& operation, const World& world, const Call& call,
               const PooledBuffers& buffers, bool check);

}  // namespace tutti
