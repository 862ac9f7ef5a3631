// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "collectives/execute/plan/plan.hpp"
#include "collectives/execute/plan/plan_request.hpp"
#include "collectives/transport/endpoint.hpp"
#include "collectives/transport/gpu/device_transport.hpp"
#include "collectives/world/shared_plan_memory.hpp"

// The two kinds of plan. Each is collective and throws Error on all ranks if one lacks memory.
namespace tutti {

/// A plan whose steps the processor does. In each step a rank sends and receives one message to and
/// from each peer that it does not reach by memory, received in place if that is safe; and it waits
/// for the other peers, loads from them and from itself, adds up, and stores the result to all
/// ranks that need it. `transport`: for the messages; null if the request has none. See
/// docs/background/shared_memory.md. It can be bound and run when `memory` is provided.
std::unique_ptr<Plan> host_plan(Progress& progress, MessageTransport* transport,
                                const PlanRequest& request, SharedPlanMemory& memory);
/// The same with memory of its own, which is provided.
std::unique_ptr<Plan> host_plan(Progress& progress, MessageTransport* transport,
                                const PlanRequest& request);

/// A plan inside one kernel of the rank's device: the same steps as host_plan, by blocks of
/// threads (see docs/background/gpus.md), or, for small calls, by messages of the LL protocol.
/// Buffers outside of device memory are copied there and back in each run.
std::unique_ptr<Plan> device_plan(Progress& progress, const DevicePlaces& places,
                                  const PlanRequest& request);

}  // namespace tutti
