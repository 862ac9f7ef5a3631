// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "results/records/point.hpp"
#include "results/records/step.hpp"

namespace tutti {

/// The same candidates at the same sizes in several launches, each once, in the order of their
/// first appearance. Launches differ by more than the calls of one, so what a launch says of a
/// candidate is one number, its median: the samples of the result. One that a launch skipped is
/// skipped; wrong elements add up; of limits the least counts.
std::vector<PointOverLaunches> over_launches(std::span<const Point> points);

/// The same of the steps of a workload.
std::vector<StepOverLaunches> over_launches(std::span<const TrainingStep> steps);

}  // namespace tutti
