// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "workloads/learn/servers/digits_learner.hpp"
#include "workloads/learn/servers/training_run.hpp"
#include "workloads/scenarios/workload.hpp"
#include "workloads/steps/compression_tally.hpp"

namespace tutti {

/// What a way to train is asked for.
struct TrainingPurpose {
    std::int64_t row = 1;    ///< steps of a timed sample
    std::int64_t steps = 1;  ///< of the training
    /// What one rank with the whole batches has after so many steps, where this way gives the same
    /// within rounding; else null.
    std::function<std::vector<float>(std::int64_t steps)> weights_of_one_rank = {};
    const Dataset& test;
    CompressionTally* tally = nullptr;  ///< of the sums that it compresses, if it does
};

/// A way to train as a scenario's: timed row by row; checked against one rank; and for its metrics
/// trained from the beginning to the end. World, learner and test data outlive it. Collective.
std::unique_ptr<Steps> training_steps(World& world, std::unique_ptr<RowTrainer> trainer,
                                      DigitsLearner& learner, TrainingPurpose purpose);

}  // namespace tutti
