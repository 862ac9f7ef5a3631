// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "results/records/step.hpp"
#include "workloads/steps/step_runner.hpp"

namespace tutti {

/// When to stop repeating steps.
struct StepProtocol {
    std::int64_t min_rounds = 10;
    std::int64_t max_rounds = 200;
    std::int64_t warm_up = 2;  ///< steps of each method that do not count
    /// For all methods together, without warm-up and the first min_rounds
    double max_seconds = 20;
    /// Stop at this half-width of each method's step and, relative to the step, of its exposed
    /// time.
    double target_ci = 0.02;
    std::uint64_t seed = 1;
    bool keep_samples = false;
    GlobalClock* clock = nullptr;  ///< for several hosts; else unused
    /// Called on each rank after each round, with the rounds that count and their seconds.
    std::function<void(std::int64_t rounds, double seconds)> after_round = {};
    /// Called on each rank, after the first round and then less and less often, with the current
    /// result of each method including samples: what an interruption leaves.
    std::function<void(std::vector<TrainingStep> partial)> so_far = {};
    /// Samples of each method from an interrupted run, on rank 0; empty: none.
    std::vector<StepSamples> earlier = {};
};

/// Runs a step by one method. Collective, called after a barrier.
using RunStep = std::function<StepStamps(StepPart part, std::int64_t number)>;

/// Times all methods alternately: each round has a step that only computes, and for each method a
/// whole step and one that only communicates, in random order. The exposed time is the difference
/// within a round, which cancels drift of the machine. The caller fills in keys, checks and
/// metrics. Collective; the same result on all ranks.
std::vector<TrainingStep> measure_steps(World& world, const std::vector<RunStep>& methods,
                                        const StepProtocol& protocol);

}  // namespace tutti
