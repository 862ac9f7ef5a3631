// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "collectives/planner/planner.hpp"

namespace tutti {

/// A collective call that some configuration is to execute.
struct OperationRequest {
    Call call;
    CallBuffers buffers;  ///< refusals depend only on their memory and on whether they are in place
    const ReachableMemory* registered = nullptr;  ///< memory that contains the buffers, if any
    /// Bytes of the largest block that the operation is to serve; 0: those of the call.
    std::int64_t most_bytes = 0;
    std::optional<BuffersOfAll> known = {};  ///< what the ranks know of all buffers, if they do
};

/// Returns why these ranks cannot execute the call with this configuration; nothing if they can.
/// For a library's configuration, the answer may differ between ranks. Collective.
std::optional<std::string> refusal(Planner& planner, const Configuration& configuration,
                                   const OperationRequest& request,
                                   const Placement& placement = {});

/// Makes the operation for the call with this configuration. Throws Error if it is refused or
/// cannot be made. Collective.
std::unique_ptr<Operation> make_operation(Planner& planner, const Configuration& configuration,
                                          const OperationRequest& request,
                                          const Environment& environment);

/// Makes the operation in the environment of the planner's world; null on all ranks if one of them
/// cannot. Passes on errors that end the run. Collective.
std::unique_ptr<Operation> make_operation_on_all(Planner& planner,
                                                 const Configuration& configuration,
                                                 const OperationRequest& request);

}  // namespace tutti
