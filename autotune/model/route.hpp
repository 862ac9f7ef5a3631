// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "autotune/model/cost_model.hpp"
#include "base/configuration.hpp"
#include "collectives/execute/plan/plan_request.hpp"
#include "collectives/schedule/schedule.hpp"

namespace tutti {

/// How bytes get from rank to rank: in messages, which keep both ends busy; read by the receiver in
/// place, or written by the rank that computes them (`direct`); copied by the sender to where peers
/// read them (`copy_in_copy_out`); read through the kernel (`single_copy`). See
/// docs/background/shared_memory.md.
enum class TransferMethod { messages, direct, copy_in_copy_out, single_copy };

/// The plan that the planner would make of a configuration for a call.
struct Route {
    Schedule schedule;
    TransferMethod method;
    /// The name of the parameters: "mpi/unregistered", "shm-direct/registered oversubscribed".
    /// Waiting has another cost if a host has more ranks than cores: ranks yield their core instead
    /// of spinning.
    std::string parameters;
    Lanes lanes = {};  ///< for messages: transfers in different lanes are different messages
};

/// Returns nothing if the configuration is not a schedule (a library's own collective), this build
/// lacks the algorithm, it cannot do the job, or the transport does not reach other hosts.
std::optional<Route> route_of(const Configuration& configuration, const ModelCall& call,
                              const ModelledMachine& machine);

/// Returns the bytes of input and output of all ranks.
double bytes_of_all_buffers(const Call& call, int ranks);

}  // namespace tutti
