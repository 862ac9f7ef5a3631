// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/index.hpp"
#include "workloads/scenarios/patterns.hpp"

namespace tutti {

std::vector<MicroBatchPass> passes_of(PipelineOrder order, int stage, int stages,
                                      int micro_batches) {
    using enum MicroBatchPass::Direction;
    // A stage is ahead by the micro-batches that are between it and the last stage, or on their way
    // back.
    const int ahead =
        order == PipelineOrder::gpipe ? micro_batches : std::min(micro_batches, stages - 1 - stage);
    std::vector<MicroBatchPass> passes;
    int next = 0;
    while (next < ahead) passes.push_back({forward, next++});
    for (int done = 0; done < micro_batches; ++done) {
        if (next < micro_batches) passes.push_back({forward, next++});
        passes.push_back({backward, done});
    }
    return passes;
}

int most_in_flight(PipelineOrder order, int stage, int stages, int micro_batches) {
    int now = 0, most = 0;
    for (const MicroBatchPass& pass : passes_of(order, stage, stages, micro_batches)) {
        now += pass.direction == MicroBatchPass::Direction::forward ? 1 : -1;
        most = std::max(most, now);
    }
    return most;
}

int weight_versions(PipelineOrder order, int stage, int stages) {
    if (order != PipelineOrder::pipedream) return 1;
    // The number that fills the pipeline, which never runs empty.
    return most_in_flight(order, stage, stages, 2 * stages);
}

std::vector<int> stages_of_units(const Model& model, int stages) {
    const int units = model.units(), blocks = units - 2;
    if (stages > blocks)
        throw Error(fmt::format("{} stages are more than the {} layers of {}; use --stages {}",
                                stages, blocks, model.name, blocks));
    std::vector<int> stage_of;
    for (int unit = 0; unit < units; ++unit)
        stage_of.push_back(unit == 0          ? 0
                           : unit + 1 < units ? (unit - 1) * stages / blocks
                                              : stages - 1);
    return stage_of;
}

bool has_tied_head(const Model& model) {
    if (!model.transformer) return false;
    const auto counts = model.unit_counts();
    double flops = 0;  // flops of the last unit
    for (const Parameter& parameter : model.parameters)
        if (parameter.unit + 1 == model.units()) flops += parameter.forward_flops;
    // A tied head multiplies by the vocabulary's matrix (2 V H S flops), but holds no such matrix.
    const Transformer& shape = *model.transformer;
    const double half_a_head =
        static_cast<double>(shape.vocabulary * shape.hidden) * static_cast<double>(shape.sequence);
    return flops > half_a_head && counts.back() < counts.front() / 2;
}

namespace {

using Kind = StageAction::Kind;
using Actions = std::vector<StageAction>;

int count_of(const Actions& actions, Kind kind) {
    return static_cast<int>(std::ranges::count(actions, kind, &StageAction::kind));
}

void add_pass(Actions& actions, MicroBatchPass::Direction direction, const StageTimes& times,
              bool is_first, bool is_last) {
    if (direction == MicroBatchPass::Direction::forward) {
        if (!is_first) actions.push_back({Kind::receive_activation});
        actions.push_back({Kind::forward, times.forward_ns});
        if (!is_last) actions.push_back({Kind::send_activation});
        return;
    }
    if (!is_last) actions.push_back({Kind::receive_gradient});
    actions.push_back({Kind::backward, times.backward_ns});
    // The sender waits for this before it can receive the gradient.
    if (!is_first) actions.push_back({Kind::expect_activation});
    if (!is_first) actions.push_back({Kind::send_gradient});
}

// Returns one forward and one backward pass.
Actions cycle_of(const StageTimes& times, bool is_first, bool is_last) {
    Actions cycle;
    add_pass(cycle, MicroBatchPass::Direction::forward, times, is_first, is_last);
    add_pass(cycle, MicroBatchPass::Direction::backward, times, is_first, is_last);
    cycle.push_back({Kind::update});
    return cycle;
}

struct CutCycle {
    Actions before, after;
};

// Cuts an action after `ns`. Messages have been sent at the cut, and none is received after it.
CutCycle cut(const Actions& cycle, std::int64_t ns) {
    CutCycle parts;
    bool is_over = false;
    for (const StageAction& action : cycle) {
        const bool receives =
            action.kind == Kind::receive_activation || action.kind == Kind::receive_gradient;
        is_over = is_over || (ns == 0 && (receives || action.ns > 0));
        if (is_over) {
            parts.after.push_back(action);
        } else if (action.ns > ns) {
            parts.before.push_back({action.kind, ns});
            parts.after.push_back({action.kind, action.ns - ns});
            is_over = true;
        } else {
            parts.before.push_back(action);
            ns -= action.ns;
        }
    }
    return parts;
}

// Rounds towards minus infinity.
std::int64_t floor_of(std::int64_t ns, std::int64_t period) {
    return ns / period - (ns % period < 0 ? 1 : 0);
}

}  // namespace

StageStep flushed_stage(const PipelineShape& shape, int stage, const StageTimes& times) {
    StageStep step;
    for (const MicroBatchPass& pass :
         passes_of(shape.order, stage, shape.stages, shape.micro_batches))
        add_pass(step.actions, pass.direction, times, stage == 0, stage + 1 == shape.stages);
    step.actions.push_back({Kind::update});  // once for all micro-batches
    return step;
}

std::vector<StageStep> steady_pipeline(std::span<const StageTimes> times, int micro_batches) {
    const int stages = static_cast<int>(times.size());
    std::int64_t period = 1;
    for (const StageTimes& of_stage : times)
        period = std::max(period, of_stage.forward_ns + of_stage.backward_ns);
    std::vector<StageStep> steady(times.size());
    // The micro-batches of the first messages that the next stage uses and sends in the step.
    std::int64_t activation_of_next = 0, gradient_of_next = 0;
    std::int64_t backward_begins = 0;  // begin of micro-batch 0's backward
    for (int stage = stages - 1; stage >= 0; --stage) {
        const auto& [forward_ns, backward_ns] = at(times, stage);
        const bool is_first = stage == 0, is_last = stage + 1 == stages;
        const Actions cycle = cycle_of({forward_ns, backward_ns}, is_first, is_last);
        // The cycle that the cut at time 0 goes through, or that ends there.
        const std::int64_t begins = backward_begins - forward_ns;
        const std::int64_t number = floor_of(-begins - 1, period);
        const auto [before, after] = cut(cycle, -begins - number * period);
        StageStep& mine = at(steady, stage);
        mine.actions = after;
        for (int i = 0; i + 1 < micro_batches; ++i)
            mine.actions.insert(mine.actions.end(), cycle.begin(), cycle.end());
        mine.actions.insert(mine.actions.end(), before.begin(), before.end());

        const std::int64_t forward = number + stages - 1 - stage;  // is ahead of its backward
        if (!is_last) {
            steady[as_size(stage) + 1].activations_ahead = static_cast<int>(
                forward + count_of(before, Kind::send_activation) - activation_of_next);
            mine.gradients_ahead = static_cast<int>(gradient_of_next - number -
                                                    count_of(before, Kind::receive_gradient));
        }
        activation_of_next = forward + count_of(before, Kind::receive_activation);
        gradient_of_next = number + count_of(before, Kind::send_gradient);
        backward_begins += backward_ns;
    }
    return steady;
}

}  // namespace tutti
