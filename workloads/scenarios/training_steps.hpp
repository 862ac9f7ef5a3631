// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "workloads/learn/servers/learner.hpp"
#include "workloads/scenarios/workload.hpp"
#include "workloads/steps/method.hpp"

namespace tutti {

/// How a training method is measured.
struct TrainingPlan {
    std::int64_t steps_per_sample = 1;
    std::int64_t steps = 1;  ///< of the training
    /// Returns the weights after `steps` steps on one rank with the whole batches, if this method
    /// gives the same within rounding; else null.
    std::function<std::vector<float>(std::int64_t steps)> weights_of_one_rank = {};
    const Dataset& test;
    CompressionTally* tally = nullptr;  ///< of its compressed sums, if any
};

/// Returns a training method as steps of a scenario: timed in samples of several steps, checked
/// against one rank, and finally trained from start to end for its metrics. World, learner and test
/// data outlive it. Collective.
std::unique_ptr<Steps> training_steps(World& world, std::unique_ptr<FreeRunningTrainer> trainer,
                                      DigitsLearner& learner, TrainingPlan plan);

}  // namespace tutti
