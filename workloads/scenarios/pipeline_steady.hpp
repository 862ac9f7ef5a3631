// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tutti {

/// What a stage computes for one micro-batch.
struct StageTimes {
    std::int64_t forward_ns = 0;
    std::int64_t backward_ns = 0;
};

/// What a stage does, one after the other.
struct StageAct {
    enum class Kind : std::uint8_t {
        receive_activation,
        forward,
        send_activation,
        receive_gradient,
        expect_activation,  ///< from here on the next one may come
        backward,
        send_gradient,
        update  ///< of the weights, with replicas
    };
    Kind kind;
    std::int64_t ns = 0;  ///< forward, backward
};

/// A step cut out of a pipeline that never runs empty.
struct SteadyStage {
    std::vector<StageAct> acts;
    /// The first so many messages that it uses have come before the step began, and as many come by
    /// its end for the next one.
    int activations_ahead = 0;
    int gradients_ahead = 0;
};

/// Each stage does forward and backward by turns, every stage once in the time of the slowest. A
/// stage's backward begins when the next stage's has ended, its forward just before: so stages
/// are shifted against each other, and a cut at one time goes through the middle of computing.
std::vector<SteadyStage> steady_pipeline(std::span<const StageTimes> times, int micro_batches);

}  // namespace tutti
