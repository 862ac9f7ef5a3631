// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "autotune/choice/configuration.hpp"
#include "collectives/planner/planner.hpp"

namespace tutti {

/// A call that is to be done some way or other.
struct OperationRequest {
    Call call;
    CallBuffers buffers;
    const ReachableMemory* registered = nullptr;
};

/// The call done as the configuration says; null if that cannot be here, as an algorithm, transport
/// or library is missing or refuses. The same on all ranks. Collective.
std::unique_ptr<Operation> operation(Planner& planner, const Configuration& configuration,
                                     const OperationRequest& wish);

}  // namespace tutti
