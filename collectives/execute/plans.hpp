// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "collectives/execute/plan/plan.hpp"
#include "collectives/execute/plan/plan_request.hpp"
#include "collectives/transport/endpoint.hpp"
#include "collectives/transport/gpu/device_transport.hpp"

// The three kinds of plan. Each is collective and throws Error on all ranks if one lacks memory.
namespace tutti {

/// A plan by messages: in each step one message to and from every peer, received in place if that
/// is safe, else in an inbox and then copied or reduced.
std::unique_ptr<Plan> message_plan(Progress& progress, MessageTransport& transport,
                                   const PlanRequest& request);

/// A plan in shared memory: each rank waits for its dependencies, loads from peers and from itself,
/// adds up, and stores the result to all ranks that need it. See docs/background/shared_memory.md.
std::unique_ptr<Plan> direct_plan(Progress& progress, const PlanRequest& request);

/// A plan inside one kernel of the rank's device: the same steps as direct_plan, by blocks of
/// threads (see docs/background/gpus.md), or, for small calls, by messages of the LL protocol.
/// Buffers outside of device memory are copied there and back in each run.
std::unique_ptr<Plan> device_plan(Progress& progress, const DevicePlaces& places,
                                  const PlanRequest& request);

}  // namespace tutti
