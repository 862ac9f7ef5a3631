// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "workloads/bench/sweep.hpp"
#include "workloads/timing/turns.hpp"

namespace tutti {

/// The sweep's trials beside those of another job, one at a time, in the other side's turns, which
/// keeps the times. Collective; throws Error on all ranks alike.
void run_sweep_by_turns(Planner& planner, const Sweep& sweep, Turns& turns);

}  // namespace tutti
