// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collectives/execute/plan/plan.hpp"
#include "workloads/timing/global_clock.hpp"

namespace tutti {

/// Calls whose steps are observed (at least 1), and those before them.
struct ObservedCalls {
    std::int64_t timed = 1;
    std::int64_t warm_up = 8;  ///< at least 1; the first ones after a sleep are slow
};

/// Returns when each step of the operation's plan has ended on all ranks, in ns since the call
/// began: the median over the timed calls, each after a barrier, of the last rank's end.
/// Entry i is for step i; the last entry is for the call. Each rank counts from its own begin, so
/// that hosts need no common clock. Has only the entry for the call if steps cannot be observed.
/// `before_call` (may be empty) is not timed. Collective; the same on all ranks.
std::vector<std::int64_t> step_ends_of(World& world, Operation& operation, ObservedCalls calls,
                                       const std::function<void()>& before_call);

/// Writes calls as a trace for Perfetto and chrome://tracing (Trace Event Format). Each rank has a
/// lane that nests calls, their steps, and waiting and moving within steps. Times are by the first
/// host's clock; pauses between calls are left out.
class Timeline {
public:
    /// The clock outlives it.
    Timeline(World& world, GlobalClock& clock) : world_(world), clock_(clock) {}

    /// Adds one warm call that starts at a barrier, under the name `what`. Overwrites the buffers.
    /// Collective.
    void add(Operation& operation, const std::string& what);

    /// Returns the content of the file, on rank 0.
    std::string text() const;

private:
    World& world_;
    GlobalClock& clock_;
    std::string events_;         // on rank 0
    std::int64_t begin_ns_ = 0;  // begin of the next call in the trace
};

}  // namespace tutti
