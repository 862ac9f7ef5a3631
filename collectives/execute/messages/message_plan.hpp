// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "collectives/execute/plan/plan.hpp"
#include "collectives/execute/plan/plan_request.hpp"
#include "collectives/transport/endpoint.hpp"

namespace tutti {

/// Compiles one rank's part to be run by messages: in each step one message to and from every peer,
/// received in place where that is safe, else in an inbox and then copied or reduced. Collective.
std::unique_ptr<Plan> message_plan(Progress& progress, MessageTransport& transport,
                                   const PlanRequest& request);

}  // namespace tutti
