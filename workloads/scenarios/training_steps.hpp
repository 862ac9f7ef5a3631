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

/// What a method to train is asked for.
struct TrainingPlan {
    std::int64_t row = 1;    ///< steps of a timed sample
    std::int64_t steps = 1;  ///< of the training
    /// What one rank with the whole batches has after so many steps, where this method gives the
    /// same within rounding; else null.
    std::function<std::vector<float>(std::int64_t steps)> weights_of_one_rank = {};
    const Dataset& test;
    CompressionTally* tally = nullptr;  ///< of the sums that it compresses, if it does
};

/// A method to train as a scenario's: timed row by row; checked against one rank; and for its
/// metrics trained from the beginning to the end. World, learner and test data outlive it.
/// Collective.
std::unique_ptr<Steps> training_steps(World& world, std::unique_ptr<FreeRunningTrainer> trainer,
                                      DigitsLearner& learner, TrainingPlan plan);

}  // namespace tutti
