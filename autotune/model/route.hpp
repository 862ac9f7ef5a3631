// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "autotune/model/cost_model.hpp"
#include "base/configuration.hpp"
#include "collectives/execute/plan/plan_request.hpp"
#include "collectives/schedule/schedule.hpp"

namespace tutti {

/// How bytes come from rank to rank: in messages, which keep both ends busy; read by the receiver
/// where they are, or written by whoever computes them (`direct`); copied by the sender to where
/// peers read them (`copy_in_copy_out`); read through the kernel (`single_copy`). See
/// docs/background/shared_memory.md.
enum class TransferMethod { messages, direct, copy_in_copy_out, single_copy };

/// What the planner would make of a configuration for a call.
struct Route {
    Schedule schedule;
    TransferMethod method;
    /// The name of the parameters: "mpi/unregistered", "shm-direct/registered oversubscribed".
    /// Where a host has more ranks than cores, waiting costs something else: ranks do not spin but
    /// yield their core.
    std::string parameters;
    Lanes lanes = {};  ///< of messages: what goes in different lanes is not one message
};

/// Nothing where this is no schedule (a library's own collective), where this build does not know
/// the algorithm, where it cannot do the job, or where the transport does not reach other hosts.
std::optional<Route> route_of(const Configuration& configuration, const ModelCall& call,
                              const ModelledMachine& machine);

/// Bytes of input and output of all ranks.
double bytes_of_all_buffers(const Call& call, int ranks);

}  // namespace tutti
