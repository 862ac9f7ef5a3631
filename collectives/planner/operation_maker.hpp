// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "collectives/planner/planner.hpp"

namespace tutti {

/// A call that is to be done, by whatever configuration.
struct OperationRequest {
    Call call;
    CallBuffers buffers;  ///< for a refusal count only where they lie and whether they are in place
    const ReachableMemory* registered = nullptr;  ///< that the buffers are part of, if any
};

/// Why these ranks cannot do the call as the configuration says; nothing if they can. Of a library,
/// ranks may differ. Collective.
std::optional<std::string> refusal(Planner& planner, const Configuration& configuration,
                                   const OperationRequest& request,
                                   const Placement& placement = {});

/// The call done as the configuration says. Throws Error if it is refused or cannot be made here.
/// Collective.
std::unique_ptr<Operation> make_operation(Planner& planner, const Configuration& configuration,
                                          const OperationRequest& request,
                                          const Environment& environment);

/// The same in the environment of the planner's world; null on all ranks if one of them cannot.
/// Errors that end the run pass through. Collective.
std::unique_ptr<Operation> make_operation_on_all(Planner& planner,
                                                 const Configuration& configuration,
                                                 const OperationRequest& request);

}  // namespace tutti
