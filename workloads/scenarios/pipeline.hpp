// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "workloads/models/model.hpp"
#include "workloads/program/program.hpp"

namespace tutti {

/// In which order a stage does its micro-batches.
enum class PipelineOrder : std::uint8_t {
    gpipe,            ///< all forward, then all backward (Huang et al. 2019, arXiv:1811.06965)
    one_forward_one,  ///< 1F1B: backward as early as possible, alternating; flushed at the end
    /// 1F1B that never runs empty: every backward updates the weights at once, so that a forward
    /// keeps the weights that its backward will need (Narayanan et al., SOSP 2019).
    pipedream
};

struct PipelineShape {
    PipelineOrder order = PipelineOrder::one_forward_one;
    int stages = 2;  ///< divides the ranks; as many replicas of each stage are averaged
    int micro_batches = 8;
    std::int64_t tokens = 1024;  ///< of a micro-batch
    DataType type = DataType::float32;
};

/// One direction of a micro-batch in a stage.
struct MicroBatchPass {
    enum class Direction : std::uint8_t { forward, backward };
    Direction direction;
    int micro_batch;
    bool operator==(const MicroBatchPass&) const = default;
};

/// The passes of a stage in a step that begins and ends with an empty pipeline (gpipe, 1F1B).
std::vector<MicroBatchPass> passes_of(PipelineOrder order, int stage, int stages,
                                      int micro_batches);

/// The most micro-batches between forward and backward in a stage: their activations are stored.
int most_in_flight(PipelineOrder order, int stage, int stages, int micro_batches);

/// Versions of a stage's weights that are stored: one where all micro-batches of a step use the
/// same; with pipedream one for each micro-batch in flight, P - s of stage s of P.
int weight_versions(PipelineOrder order, int stage, int stages);

/// The stage of each unit: the blocks distributed evenly in their order, the embedding in the first
/// stage, the head in the last. Throws Error for more stages than blocks.
std::vector<int> stages_of_units(const Model& model, int stages);

/// Whether the head shares the embedding's weights (gpt2): first and last stage then sum gradients.
bool has_tied_head(const Model& model);

/// A step of `micro_batches` through the stages; `compute_ns` is the mean of what a rank computes
/// in it. Stage s of replica d is rank s D + d. Activations go to the next stage, gradients back,
/// each as a broadcast in a group of two; at most two messages of a direction are under way. A
/// pipeline that begins and ends empty idles in P-1 of M+P-1 slots. Pipedream's step is cut out of
/// a pipeline in its steady state: messages under way at the cut are waited for there.
///
/// Over each boundary a rank sends 2 M T H b bytes: T tokens' activations and their gradients.
/// Throws Error where stages do not divide the ranks or exceed the blocks.
Program pipeline_program(const Model& model, const PipelineShape& shape, std::int64_t compute_ns,
                         int ranks);

/// A stage's computing for one micro-batch.
struct StageTimes {
    std::int64_t forward_ns = 0;
    std::int64_t backward_ns = 0;
};

/// One action of a stage; a stage does its actions in order.
struct StageAction {
    enum class Kind : std::uint8_t {
        receive_activation,
        forward,
        send_activation,
        receive_gradient,
        expect_activation,  ///< the next one may arrive from here on
        backward,
        send_gradient,
        update  ///< of the weights, with replicas
    };
    Kind kind;
    std::int64_t ns = 0;  ///< forward, backward
};

/// A stage's part of a step.
struct StageStep {
    std::vector<StageAction> actions;
    /// Of a step cut out of a steady state: so many of the messages that it uses arrive before the
    /// step begins, and as many for the next step before it ends.
    int activations_ahead = 0;
    int gradients_ahead = 0;
};

/// A stage in a step that begins and ends with an empty pipeline (gpipe, 1F1B).
StageStep flushed_stage(const PipelineShape& shape, int stage, const StageTimes& times);

/// Each stage alternates forward and backward, with the period of the slowest stage. A stage's
/// backward begins when the next stage's ends, and its forward just before: so stages are shifted
/// against each other, and a cut at one time may divide their computing.
std::vector<StageStep> steady_pipeline(std::span<const StageTimes> times, int micro_batches);

}  // namespace tutti
