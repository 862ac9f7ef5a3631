// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "results/step.hpp"
#include "workloads/steps/step_times.hpp"

namespace tutti {

/// A row of steps in which nobody meets in between.
struct StepRow {
    std::int64_t steps = 1;
    bool computes = true;  ///< else: the gradients are those that are there
    bool communicates = true;
    bool learns = true;  ///< else: the same work at rate 0
};

/// A way to train that can be asked for rows of steps. Collective, all of it.
class RowTrainer {
public:
    virtual ~RowTrainer() = default;
    /// As it was at first: weights, optimizer, order of batches, counts.
    virtual void begin_anew() = 0;
    /// Ranks have met just before. Notes one span: the communication of the row's first step,
    /// where all ranks wait for all. Throws Error (time_out) naming whom it waited for.
    virtual StepStamps run(const StepRow& row) = 0;
    /// The weights so far, the same on all ranks, in the learner's network.
    virtual void gather_weights() = 0;
    /// What it counted since it began anew; the same on all ranks.
    virtual std::vector<Metric> counted() { return {}; }
};

/// What one step took where a row of `steps` was noted. Passages stay.
StepStamps of_one_step(StepStamps row, std::int64_t steps);

}  // namespace tutti
