// SPDX-License-Identifier: Apache-2.0
#include "workloads/scenarios/pipeline_steady.hpp"

#include <algorithm>

namespace tutti {
namespace {

using Kind = StageAct::Kind;
using Acts = std::vector<StageAct>;

int count_of(const Acts& acts, Kind kind) {
    return static_cast<int>(std::ranges::count(acts, kind, &StageAct::kind));
}

// One forward and one backward.
Acts turn_of(const StageTimes& times, bool is_first, bool is_last) {
    Acts turn;
    if (!is_first) turn.push_back({Kind::receive_activation});
    turn.push_back({Kind::forward, times.forward_ns});
    if (!is_last) turn.push_back({Kind::send_activation});
    if (!is_last) turn.push_back({Kind::receive_gradient});
    turn.push_back({Kind::backward, times.backward_ns});
    // As whoever sends it may not go on before, to receive the gradient.
    if (!is_first) turn.push_back({Kind::expect_activation});
    if (!is_first) turn.push_back({Kind::send_gradient});
    turn.push_back({Kind::update});
    return turn;
}

struct CutTurn {
    Acts before, after;
};

// After `ns` of it. At the cut what is sent has been sent, and nothing more is received.
CutTurn cut(const Acts& turn, std::int64_t ns) {
    CutTurn parts;
    bool is_over = false;
    for (const StageAct& act : turn) {
        const bool receives =
            act.kind == Kind::receive_activation || act.kind == Kind::receive_gradient;
        is_over = is_over || (ns == 0 && (receives || act.ns > 0));
        if (is_over) {
            parts.after.push_back(act);
        } else if (act.ns > ns) {
            parts.before.push_back({act.kind, ns});
            parts.after.push_back({act.kind, act.ns - ns});
            is_over = true;
        } else {
            parts.before.push_back(act);
            ns -= act.ns;
        }
    }
    return parts;
}

// Rounds towards minus infinity.
std::int64_t floor_of(std::int64_t ns, std::int64_t period) {
    return ns / period - (ns % period < 0 ? 1 : 0);
}

}  // namespace

std::vector<SteadyStage> steady_pipeline(std::span<const StageTimes> times, int micro_batches) {
    const int stages = static_cast<int>(times.size());
    std::int64_t period = 1;
    for (const StageTimes& of_stage : times)
        period = std::max(period, of_stage.forward_ns + of_stage.backward_ns);
    std::vector<SteadyStage> steady(times.size());
    // The micro-batches of the first messages that the next stage uses and sends in the step.
    std::int64_t activation_of_next = 0, gradient_of_next = 0;
    std::int64_t backward_begins = 0;  // of micro-batch 0
    for (int stage = stages - 1; stage >= 0; --stage) {
        const auto& [forward_ns, backward_ns] = times[static_cast<std::size_t>(stage)];
        const bool is_first = stage == 0, is_last = stage + 1 == stages;
        const Acts turn = turn_of({forward_ns, backward_ns}, is_first, is_last);
        // The turn that the cut at time 0 goes through, or that ends there.
        const std::int64_t begins = backward_begins - forward_ns;
        const std::int64_t number = floor_of(-begins - 1, period);
        const auto [before, after] = cut(turn, -begins - number * period);
        SteadyStage& mine = steady[static_cast<std::size_t>(stage)];
        mine.acts = after;
        for (int i = 0; i + 1 < micro_batches; ++i)
            mine.acts.insert(mine.acts.end(), turn.begin(), turn.end());
        mine.acts.insert(mine.acts.end(), before.begin(), before.end());

        const std::int64_t forward = number + stages - 1 - stage;  // is ahead of its backward
        if (!is_last) {
            steady[static_cast<std::size_t>(stage) + 1].activations_ahead = static_cast<int>(
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
