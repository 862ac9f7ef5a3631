// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Programs of all patterns of parallelism, and the settings that they share.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.hpp"
#include "base/units.hpp"
#include "workloads/models/buckets.hpp"
#include "workloads/models/compute_times.hpp"
#include "workloads/models/model.hpp"
#include "workloads/program/program.hpp"
#include "workloads/program/settings.hpp"
#include "workloads/traces/count_matrices.hpp"
#include "workloads/traces/trace.hpp"

namespace tutti {

inline constexpr SettingRow scale_setting{
    "scale", "Factor for the model's size, e.g. 0.1 to fit memory; small: at most 2M elements",
    "1"};
inline constexpr SettingRow type_setting{"element", "Type of gradients, weights and activations",
                                         "float"};
inline constexpr SettingRow tokens_setting{
    "tokens", "Tokens per rank in a batch (or micro-batch); 0: one sequence of the model", "0"};
inline constexpr SettingRow step_time_setting{
    "step-time", "Computing time of a rank in a step, forward and backward", "100ms"};

/// Reads the settings `model` and `scale`.
Model scaled_model(const Settings& settings);

/// Does the same for a transformer. Throws Error naming `candidates` for other models.
Model transformer_model(const Settings& settings, std::string_view candidates);

/// Reads the setting `tokens` for this transformer.
std::int64_t tokens_of(const Settings& settings, const Model& model);

/// Reads the setting `element`: a type that has a mean.
DataType element_type(const Settings& settings);

/// Reads the setting `step-time`.
std::int64_t step_ns_of(const Settings& settings);

/// Ranks as a grid: each block is `inner` consecutive ranks.
struct RankGrid {
    int inner = 1;
    int blocks = 1;
    int ranks() const { return inner * blocks; }
    /// Returns the ranks of one block.
    std::vector<Rank> block(int index) const;
    /// Returns the ranks at this index of every block.
    std::vector<Rank> across(int place) const;
};

/// Returns a grid with `wanted` ranks per block; 0: all. Throws Error naming `setting` unless that
/// divides the ranks.
RankGrid grid_of(int ranks, int wanted, std::string_view setting);

/// Returns a program without tasks for this many ranks.
Program empty_program(const Model& model, int ranks);
/// Does the same for ranks that share one list of tasks.
Program program_of_alike(const Model& model, int ranks);

/// A step of PyTorch's DistributedDataParallel (Li et al., VLDB 2020): broadcast of the first
/// rank's buffers, forward, then backward. In backward, the mean of each bucket starts once its
/// gradients and those of earlier buckets are ready; at the end all are waited for. `times` has an
/// entry for each recorded step (one by formula), each with as many gradients as the model. A rank
/// passes b N bytes to all-reduces, and the buffers' bytes to broadcasts.
Program ddp_program(const Model& model, DataType type, std::span<const Bucket> buckets,
                    std::span<const ComputeTimes> times, int ranks);

/// A recorded data-parallel step on any number of ranks. Rank r has the times of recorded rank r
/// modulo their number; step k those of iteration k modulo theirs. The buckets are the recorded
/// ones or others of the same parameters.
Program program_of(const GradientTrace& trace, const std::string& name,
                   std::span<const Bucket> buckets, int ranks);

struct ZeroShape {
    int stage = 3;  ///< sharded: 1 optimizer state, 2 gradients too, 3 weights too
    /// Stage 3: units gathered ahead of the one that computes. Each needs a buffer.
    int prefetch = 1;
    Bytes bucket{25 << 20};  ///< stages 1 and 2: gradients sent together
    DataType type = DataType::float32;
};

/// A step of ZeRO (Rajbhandari et al. 2020, arXiv:1910.02054); stage 3 as in PyTorch's
/// FullyShardedDataParallel (Zhao et al. 2023, arXiv:2304.11277). Each rank owns a P-th of every
/// message, which is padded to a multiple of P.
///
/// Stage 1: buckets of gradients are reduce-scattered after backward, then the new weights are
/// gathered. Stage 2: the same, but a bucket leaves during backward as soon as it is ready. Stage
/// 3: a unit's weights are gathered for forward and again for backward, and its gradients are
/// reduce-scattered; at most `prefetch` gathers and two reduce-scatters overlap with computing.
///
/// With N weights of b bytes a rank sends b N (1 + 1/P) bytes, in stage 3 b N (1 + 2/P): its
/// gradients and its share of the weights once or twice. Each gather moves b N bytes in total.
Program zero_program(const Model& model, const ZeroShape& shape, std::int64_t compute_ns,
                     int ranks);

struct TensorShape {
    int tensor_ranks = 2;        ///< ranks that share each layer; divides the ranks
    std::int64_t tokens = 1024;  ///< of a batch
    bool sequence_parallel = false;
    DataType type = DataType::float32;
};

/// A step of Megatron-LM (Shoeybi et al. 2019, arXiv:1909.08053). The t ranks of a group share
/// every matrix, so each half of a layer (attention, feed-forward) ends in a sum of T H
/// activations, in forward and in backward. So does the embedding, and the loss, whose vocabulary
/// is sharded, sums three numbers per token. All sums are on the critical path. With sequence
/// parallelism (Korthikanti et al. 2022, arXiv:2205.05198) each half begins with an all-gather and
/// ends with a reduce-scatter; in backward the half's input is gathered again next to the gradient.
/// The groups are D data-parallel replicas: a layer's share of gradients is averaged during
/// backward.
///
/// A rank sends (4 L + 2) T H b + 12 T bytes, with sequence parallelism (2 + 4 L) T H b + 6 L T H b
/// / t + 12 T; and N b / t of gradients if D > 1.
Program tensor_parallel_program(const Model& model, const TensorShape& shape,
                                std::int64_t compute_ns, int ranks);

/// The order in which a stage processes its micro-batches.
enum class PipelineOrder : std::uint8_t {
    gpipe,            ///< all forward, then all backward (Huang et al. 2019, arXiv:1811.06965)
    one_forward_one,  ///< 1F1B: backward as early as possible, alternating; flushed at the end
    /// 1F1B that never runs empty: every backward updates the weights at once, so a forward keeps
    /// the weights that its backward will need (Narayanan et al., SOSP 2019).
    pipedream
};

struct PipelineShape {
    PipelineOrder order = PipelineOrder::one_forward_one;
    int stages = 2;  ///< divides the ranks; the replicas of each stage are averaged
    int micro_batches = 8;
    std::int64_t tokens = 1024;  ///< of a micro-batch
    DataType type = DataType::float32;
};

/// A micro-batch in one direction in a stage.
struct MicroBatchPass {
    enum class Direction : std::uint8_t { forward, backward };
    Direction direction;
    int micro_batch;
    bool operator==(const MicroBatchPass&) const = default;
};

/// Returns the passes of a stage in a step that begins and ends with an empty pipeline (gpipe,
/// 1F1B).
std::vector<MicroBatchPass> passes_of(PipelineOrder order, int stage, int stages,
                                      int micro_batches);

/// Returns the most micro-batches between forward and backward in a stage, whose activations are
/// stored.
int most_in_flight(PipelineOrder order, int stage, int stages, int micro_batches);

/// Returns the number of stored versions of a stage's weights: one if all micro-batches of a step
/// use the same; with pipedream one for each micro-batch in flight, P - s for stage s of P.
int weight_versions(PipelineOrder order, int stage, int stages);

/// Returns the stage of each unit: blocks are distributed evenly in their order, the embedding is
/// in the first stage, the head in the last. Throws Error for more stages than blocks.
std::vector<int> stages_of_units(const Model& model, int stages);

/// Returns whether the head shares the embedding's weights (gpt2); then the first and last stage
/// sum gradients.
bool has_tied_head(const Model& model);

/// A step of `micro_batches` through the stages; `compute_ns` is a rank's mean computing time. With
/// D replicas, stage s of replica d is rank s D + d. Activations go to the next stage, gradients
/// back, each as a broadcast in a group of two; at most two messages of a direction are under way.
/// A pipeline that begins and ends empty idles in P-1 of M+P-1 slots. Pipedream's step is cut out
/// of a pipeline in its steady state; messages under way at the cut are waited for there.
///
/// Over each boundary a rank sends 2 M T H b bytes: T tokens' activations and their gradients.
/// Throws Error if stages do not divide the ranks or exceed the blocks.
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
        expect_activation,  ///< from here on the next one may arrive
        backward,
        send_gradient,
        update  ///< of the weights, if there are replicas
    };
    Kind kind;
    std::int64_t ns = 0;  ///< forward, backward
};

/// The actions of a stage in a step.
struct StageStep {
    std::vector<StageAction> actions;
    /// In a step cut out of a steady state, this many of the messages that it uses arrive before
    /// the step begins, and as many for the next step before it ends.
    int activations_ahead = 0;
    int gradients_ahead = 0;
};

/// Returns a stage's actions in a step that begins and ends with an empty pipeline (gpipe, 1F1B).
StageStep flushed_stage(const PipelineShape& shape, int stage, const StageTimes& times);

/// Returns the actions of all stages in a steady pipeline. Each stage alternates forward and
/// backward, with the period of the slowest stage. A stage's backward begins when the next stage's
/// ends, and its forward just before. So stages are shifted against each other, and a cut at one
/// time may divide their computing.
std::vector<StageStep> steady_pipeline(std::span<const StageTimes> times, int micro_batches);

struct MoeRouting {
    std::int64_t experts = 8;
    std::int64_t experts_per_token = 2;
    std::int64_t tokens = 1024;  ///< of a rank
    /// The exponent of Zipf's law: the expert of popularity rank i is chosen in proportion to 1 /
    /// i^skew; 0: all alike.
    double skew = 0;
    /// Tokens that an expert takes from a rank, relative to the mean; more are dropped.
    double capacity = 1.25;
    std::uint64_t seed = 1;
};

/// The experts of one rank's tokens in one layer.
struct RoutedTokens {
    std::vector<std::int64_t> accepted;  // tokens, by expert
    std::int64_t dropped = 0;            // choices, not tokens
};

/// Returns the number of tokens that an expert takes from a rank.
std::int64_t capacity_of(const MoeRouting& routing);

/// Draws each token's experts, all different. The popular experts differ by layer. The same on all
/// ranks.
RoutedTokens route(const MoeRouting& routing, int layer, int rank);

struct MoeShape {
    int expert_ranks = 2;  ///< ranks that share the experts of a layer; divides the ranks
    MoeRouting routing;    ///< experts as the model has them
    DataType type = DataType::float32;
    /// Blocks of all-to-alls. Drawn routing is padded to the experts' capacity, recorded routing to
    /// the longest block.
    Blocks blocks = Blocks::padded;
    /// Tokens that ranks send, see require_fit(); null: routing is drawn. Layers take the matrices
    /// in their order, step after step, and begin again after the last one.
    const CountMatrices* recorded = nullptr;
};

/// Throws Error unless the matrices have a row for each rank, or for each of the expert ranks,
/// whose replicas then send the same, and a column for each expert rank or for each expert.
void require_fit(const CountMatrices& recorded, const MoeShape& shape, int ranks);

/// Returns the number of experts that an expert rank has.
int experts_at(const MoeShape& shape, int place);

/// The tokens of a layer in a block of expert ranks.
struct LayerTokens {
    /// By recorded step: the tokens that each rank sends to each, row after row.
    std::vector<std::vector<std::int64_t>> of_steps;
    std::int64_t dropped = 0;  ///< drawn routing: choices, not tokens
};

/// `layer` counts from 1.
LayerTokens tokens_of_layer(const MoeShape& shape, int block, int layer, int layers);

struct MoeProgram {
    Program program;
    double dropped_share = 0;  ///< of all choices of experts
    double padding_share = 0;  ///< of the data sent: places that no token used
    /// Computing time of the rank with the most tokens, relative to the mean.
    double imbalance = 1;
    std::size_t steps = 1;  ///< after which the routing repeats
};

/// A step with expert parallelism (GShard, Lepikhin et al. 2020, arXiv:2006.16668). In each layer
/// every rank sends the others its token counts, sends each token to its k experts and gets it back
/// (two all-to-alls); in backward it does the same with gradients. The all-to-all is padded to the
/// capacity C of an expert. A rank computes for as many tokens as its experts got. Dense weights
/// are averaged over all ranks, experts over the ranks that hold the same ones. With blocks of
/// different lengths, the counts of all ranks are gathered on all, because each rank needs them.
///
/// With e expert ranks of at most x experts, L layers and D dense weights a rank sends
/// L (4 e x C H b + 8 e x) + b D bytes, and b times its experts' weights if they have replicas.
/// With blocks of the tokens' lengths, it sends 2 (S + R) H b + 8 E in each layer, if it sends S
/// tokens and receives R; E experts, or e if the recording has a column for each expert rank.
MoeProgram moe_program(const Model& model, const MoeShape& shape, std::int64_t compute_ns,
                       int ranks);

}  // namespace tutti
