// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "workloads/scenarios/workload.hpp"
#include "workloads/steps/step_runner.hpp"

namespace tutti {

/// Called untimed on each rank before step `number`, as to load real data into the inputs.
using BeforeStep = std::function<void(const ProgramBuffers& buffers, std::int64_t number)>;

/// A scenario that runs a program: its collectives on memory that stands for gradients, between
/// computing that only takes its time. Every method gets `metrics`. Throws Error if check() does.
/// Collective.
std::unique_ptr<Scenario> scenario_of(Program program, std::vector<std::string> notes,
                                      std::vector<Metric> metrics,
                                      const WorkloadEnvironment& environment,
                                      BeforeStep before = {});

}  // namespace tutti
