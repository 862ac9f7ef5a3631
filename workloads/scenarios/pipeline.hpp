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
    one_forward_one,  ///< 1F1B: backward as soon as it can be, then in turns; flushed at the end
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

/// A micro-batch that goes through a stage in one direction.
struct MicroBatchPass {
    enum class Direction : std::uint8_t { forward, backward };
    Direction direction;
    int micro_batch;
    bool operator==(const MicroBatchPass&) const = default;
};

/// What a stage does in a step that begins and ends empty (gpipe, 1F1B).
std::vector<MicroBatchPass> passes_of(PipelineOrder order, int stage, int stages,
                                      int micro_batches);

/// Micro-batches at most whose forward a stage has done and whose backward it has not: so many
/// activations it keeps.
int most_in_flight(PipelineOrder order, int stage, int stages, int micro_batches);

/// Versions of a stage's weights that must be kept: one where all micro-batches of a step use the
/// same; with pipedream one for each micro-batch in flight, P - s of stage s of P.
int weight_versions(PipelineOrder order, int stage, int stages);

/// BufferPool of each unit: the blocks shared out evenly in their order, the embedding in the first
/// stage, the head in the last. Throws Error for more stages than blocks.
std::vector<int> stages_of_units(const Model& model, int stages);

/// Whether the head is the embedding once more (gpt2): first and last stage then add up gradients.
bool has_tied_head(const Model& model);

/// A step of `micro_batches` through the stages; `compute_ns` is what a rank computes in it on the
/// mean. BufferPool s of replica d is rank s D + d. Activations go to the next stage, gradients
/// back, each as a broadcast in a group of two; at most two messages of a direction are on their
/// method. A pipeline that begins and ends empty idles (P-1) of M+P-1 turns. Pipedream's step is
/// cut out of a pipeline that has been full for long: what is on its way at the cut is waited for
/// there.
///
/// Over each boundary a rank hands over 2 M T H b bytes: T tokens' activations and their gradients.
/// Throws Error where stages do not divide the ranks or exceed the blocks.
Program pipeline_program(const Model& model, const PipelineShape& shape, std::int64_t compute_ns,
                         int ranks);

/// What a stage computes for one micro-batch.
struct StageTimes {
    std::int64_t forward_ns = 0;
    std::int64_t backward_ns = 0;
};

/// What a stage does, one after the other.
struct StageAction {
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
    std::vector<StageAction> actions;
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
