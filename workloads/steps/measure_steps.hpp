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
    double max_seconds = 20;  ///< for all methods together, warm-up left out; min_rounds come first
    /// Stop at this half-width of each method's step and, over the same step, of what is exposed.
    double target_ci = 0.02;
    std::uint64_t seed = 1;
    bool keep_samples = false;
    GlobalClock* clock = nullptr;  ///< of several hosts; else unused
    /// Called on each rank after each round, with the rounds that count and their seconds.
    std::function<void(std::int64_t rounds, double seconds)> after_round = {};
    /// Called on each rank, after the first round and then ever more seldom, with what there is of
    /// each method by then, samples included: what an interruption leaves.
    std::function<void(std::vector<TrainingStep> partial)> so_far = {};
    /// What an interrupted run has seen of each method, on rank 0; empty: nothing.
    std::vector<StepSamples> earlier = {};
};

/// Runs a step by one method. Collective, called after a barrier.
using RunStep = std::function<StepStamps(StepPart part, std::int64_t number)>;

/// Times all methods alternately: each round has a step that only computes, and for each method a
/// whole step and one that only communicates, in random order. The exposed time is the difference
/// within a round, which cancels drift of the machine. Collective; the same result on all ranks.
/// Keys, checks and metrics are left to the caller.
std::vector<TrainingStep> measure_steps(World& world, const std::vector<RunStep>& methods,
                                        const StepProtocol& protocol);

}  // namespace tutti
