// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "collectives/execute/plan/plan.hpp"
#include "workloads/timing/global_clock.hpp"

namespace tutti {

/// Calls as a trace that Perfetto and chrome://tracing show (Trace Event Format): a lane for each
/// rank; in it the call, in this its steps, in these the waiting and the moving. Times are by the
/// first host's clock, but for the pauses between calls, which are left out.
class Timeline {
public:
    /// The clock outlives it.
    Timeline(World& world, GlobalClock& clock) : world_(world), clock_(clock) {}

    /// One call, warm, begun at a barrier; `what` names it. Overwrites the buffers. Collective.
    void add(Operation& operation, const std::string& what);

    /// The file, on rank 0.
    std::string text() const;

private:
    World& world_;
    GlobalClock& clock_;
    std::string events_;         // on rank 0
    std::int64_t begin_ns_ = 0;  // of the next call in the trace
};

}  // namespace tutti
