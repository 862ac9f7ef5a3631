// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "workloads/workload.hpp"

namespace tutti {

/// A program as a scenario: collectives of its sizes on memory that stands for gradients, between
/// computing that only takes its time. `metrics` are told for every way. Throws Error if the
/// program is not sound. Collective.
std::unique_ptr<Scenario> scenario_of(Program program, std::vector<std::string> notes,
                                      std::vector<Metric> metrics, const WorkloadGround& ground);

}  // namespace tutti
