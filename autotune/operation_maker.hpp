// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "autotune/configuration.hpp"
#include "collectives/execute/planner.hpp"

namespace tutti {

/// A call that is to be done some way or other.
struct Wish {
    Call call;
    CallBuffers buffers;
    const ReachableMemory* registered = nullptr;
};

/// The call done as the configuration says; null if that cannot be here, as an algorithm, transport
/// or library is missing or refuses. The same on all ranks. Collective.
std::unique_ptr<Operation> operation(Planner& planner, const Configuration& configuration,
                                     const Wish& wish);

}  // namespace tutti
