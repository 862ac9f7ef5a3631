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

/// What a rank does before step `number`, as putting real data into the inputs; it is not timed.
using BeforeStep = std::function<void(const ProgramBuffers& stage, std::int64_t number)>;

/// A program as a scenario: collectives of its sizes on memory that stands for gradients, between
/// computing that only takes its time. `metrics` are told for every way. Throws Error if the
/// program is not sound. Collective.
std::unique_ptr<Scenario> scenario_of(Program program, std::vector<std::string> notes,
                                      std::vector<Metric> metrics,
                                      const WorkloadEnvironment& environment,
                                      BeforeStep before = {});

}  // namespace tutti
