// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "autotune/model/cost_model.hpp"
#include "base/configuration.hpp"
#include "collectives/planner/route.hpp"
#include "collectives/schedule/schedule.hpp"

namespace tutti {

/// The plan that the planner is expected to use for a call: the one that it would make, or the
/// expected one of several.
struct ExpectedPlan {
    Schedule schedule;  ///< as it is executed, in pieces
    Way way;
    /// The name of the parameters: "mpi/unregistered", "shm-direct/registered oversubscribed".
    /// Waiting has another cost if a host has more ranks than cores: ranks yield their core instead
    /// of spinning.
    std::string parameters;

    bool is_in_place() const {
        return way.method == TransferMethod::registered || way.method == TransferMethod::mapped;
    }
};

/// Returns nothing if the configuration is not a schedule (a library's own collective), this build
/// lacks the algorithm or the transport, the algorithm cannot do the job, or the transport cannot
/// connect ranks on these hosts.
std::optional<ExpectedPlan> expected_plan(const Configuration& configuration,
                                          const RoutedCall& call, const ModelledMachine& machine);

}  // namespace tutti
