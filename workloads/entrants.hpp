// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "workloads/candidates.hpp"
#include "workloads/measure.hpp"
#include "workloads/stage.hpp"

namespace tutti {

/// The candidate's operation for a call on these buffers. Collective; the candidate is not refused.
std::unique_ptr<Operation> operation_of(Planner& planner, const Candidate& candidate,
                                        const Call& call, const StageBuffers& buffers,
                                        const Ground& ground);

/// An entrant whose results are checked with rank-distinct data, or with `check` off are not.
Entrant entrant_of(Operation& operation, const World& world, const Call& call,
                   const StageBuffers& buffers, bool check);

}  // namespace tutti
