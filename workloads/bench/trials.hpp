// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "workloads/bench/buffer_pool.hpp"
#include "workloads/bench/candidates.hpp"
#include "workloads/timing/measure.hpp"

namespace tutti {

/// The candidate's operation for a call on these buffers. Collective; the candidate is not refused.
std::unique_ptr<Operation> operation_of(Planner& planner, const Candidate& candidate,
                                        const Call& call, const PooledBuffers& buffers,
                                        const Environment& environment);

/// A trial whose results are checked with rank-distinct data, or with `check` off are not.
Trial trial_of(Operation& operation, const World& world, const Call& call,
               const PooledBuffers& buffers, bool check);

}  // namespace tutti
