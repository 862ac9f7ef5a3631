// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "collectives/execute/plan/plan.hpp"
#include "collectives/execute/plan/plan_request.hpp"
#include "collectives/transport/gpu/device_transport.hpp"

namespace tutti {

/// Compiles one rank's part to be run inside one kernel of its device: the same steps as
/// direct_plan, by blocks of threads (see docs/gpus.md), or, for small calls, by messages that
/// carry their flags. Buffers that do not lie in memory of the device are copied there and back in
/// each run. Collective; throws Error if the device has too little memory.
std::unique_ptr<Plan> device_plan(Progress& progress, const DeviceTransport& transport,
                                  const PlanRequest& request);

}  // namespace tutti
