// SPDX-License-Identifier: Apache-2.0
#include "workloads/scenarios/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "workloads/models/unit_times.hpp"
#include "workloads/scenarios/pattern_settings.hpp"
#include "workloads/scenarios/pipeline_steady.hpp"

namespace tutti {
namespace {

using Phase = Task::Phase;
using Kind = StageAct::Kind;

std::vector<StageAct> acts_of(PipelineOrder order, int stage, int stages, int micro_batches,
                              const StageTimes& times) {
    std::vector<StageAct> acts;
    const bool is_first = stage == 0, is_last = stage + 1 == stages;
    for (const Passing& passing : passings_of(order, stage, stages, micro_batches)) {
        if (passing.direction == Passing::Direction::forward) {
            if (!is_first) acts.push_back({Kind::receive_activation});
            acts.push_back({Kind::forward, times.forward_ns});
            if (!is_last) acts.push_back({Kind::send_activation});
        } else {
            if (!is_last) acts.push_back({Kind::receive_gradient});
            acts.push_back({Kind::backward, times.backward_ns});
            // As whoever sends it may not go on before, to receive the gradient.
            if (!is_first) acts.push_back({Kind::expect_activation});
            if (!is_first) acts.push_back({Kind::send_gradient});
        }
    }
    acts.push_back({Kind::update});  // of all micro-batches together
    return acts;
}

class Writer {
public:
    Writer(const Model& model, const PipelineShape& shape, int ranks)
        : model_(model),
          shape_(shape),
          // A stage's replicas follow each other, so that a stage is a block.
          grid_(grid_of(ranks, ranks / shape.stages, "stages")),
          program_(empty_program(model, ranks)),
          updates_(shape.order == PipelineOrder::pipedream ? shape.micro_batches : 1) {}

    void add_calls(const std::vector<int>& stage_of) {
        forward_.resize(static_cast<std::size_t>(grid_.ranks()));
        backward_ = forward_;
        mean_.resize(static_cast<std::size_t>(grid_.ranks()));
        for (int replica = 0; replica < grid_.inner; ++replica)
            for (int stage = 0; stage + 1 < shape_.stages; ++stage) {
                const Rank from = rank_of(stage, replica), to = rank_of(stage + 1, replica);
                forward_[index(from)] = link(from, to, Rank{0}, "activation");
                backward_[index(from)] = link(from, to, Rank{1}, "gradient");
            }
        const auto counts = model_.unit_counts();
        if (grid_.inner > 1)
            for (int stage = 0; stage < shape_.stages; ++stage) {
                const int group = program_.add_group(grid_.block(stage));
                std::vector<std::pair<int, std::int64_t>> of_stage;
                for (std::size_t unit = 0; unit < counts.size(); ++unit)
                    if (stage_of[unit] == stage)
                        of_stage.emplace_back(static_cast<int>(unit), counts[unit]);
                // As they become ready.
                std::ranges::reverse(of_stage);
                std::vector<std::vector<int>> calls = averages(group, of_stage);
                for (const Rank rank : program_.groups[static_cast<std::size_t>(group)])
                    mean_[index(rank)] = calls;
            }
        if (shape_.stages > 1 && has_tied_head(model_))
            for (int replica = 0; replica < grid_.inner; ++replica) {
                const Rank first = rank_of(0, replica), last = rank_of(shape_.stages - 1, replica);
                const int group = program_.add_group({first, last});
                const auto calls = sums_of_embedding(group);
                tied_[first.index] = tied_[last.index] = calls;
            }
    }

    void write(int stage, const SteadyStage& of_stage) {
        for (const Rank rank : grid_.block(stage)) {
            State state;
            state.activations.ahead = of_stage.activations_ahead;
            state.gradients.ahead = of_stage.gradients_ahead;
            for (const StageAct& act : of_stage.acts) write(rank, act, state);
            // What the next step uses first has come when this one ends.
            std::vector<int> open;
            const auto receive_rest = [&](const std::vector<int>& calls, Incoming& incoming) {
                while (incoming.expected < std::ssize(calls)) expect(rank, calls, incoming);
                open.insert(open.end(), calls.begin() + incoming.used, calls.end());
            };
            if (stage > 0) receive_rest(from_before(rank), state.activations);
            if (stage + 1 < shape_.stages) receive_rest(backward_[index(rank)], state.gradients);
            for (const int call : open) program_.wait(rank, call, Phase::backward);
            for (const auto* sent : {&state.activations_sent, &state.gradients_sent})
                for (const int call : *sent) program_.wait(rank, call, Phase::backward);
            for (const int call : state.averaging) program_.wait(rank, call, Phase::optimizer);
        }
    }

    Program done() && { return std::move(program_); }

private:
    struct Incoming {
        int ahead = 0;     // came before the step began, and are not used yet
        int expected = 0;  // started
        int used = 0;      // waited for
    };
    struct State {
        Incoming activations, gradients;
        std::vector<int> activations_sent, gradients_sent;  // and not yet waited for
        int next_activation = 0, next_gradient = 0;         // to be sent
        std::vector<int> averaging;
        int updates = 0;
    };

    static std::size_t index(Rank rank) { return static_cast<std::size_t>(rank.index); }
    Rank rank_of(int stage, int replica) const { return {stage * grid_.inner + replica}; }
    const std::vector<int>& from_before(Rank rank) const {
        return forward_[index(rank) - static_cast<std::size_t>(grid_.inner)];
    }

    const std::vector<int>& to_before(Rank rank) const {
        return backward_[index(rank) - static_cast<std::size_t>(grid_.inner)];
    }
    static int at(const std::vector<int>& calls, int number) {
        return calls[static_cast<std::size_t>(number)];
    }

    // A group of its own for each direction: the two ends come to the directions in other orders.
    std::vector<int> link(Rank from, Rank to, Rank root, const char* what) {
        const int group = program_.add_group({from, to});
        const int memory = memory_;
        memory_ += under_way;
        std::vector<int> calls;
        for (int i = 0; i < shape_.micro_batches; ++i)
            calls.push_back(
                program_.add_call({.label = fmt::format("{} {} between ranks {} and {}", what, i,
                                                        from.index, to.index),
                                   .group = group,
                                   .call = {.collective = Collective::broadcast,
                                            .type = shape_.type,
                                            .root = root,
                                            .count = shape_.tokens * model_.transformer->hidden},
                                   .in_place = true,
                                   .memory = memory + i % under_way}));
        return calls;
    }

    GroupCall average(std::string label, int group, std::int64_t count, Op op) {
        return {.label = std::move(label),
                .group = group,
                .call = {.collective = Collective::all_reduce,
                         .type = shape_.type,
                         .op = op,
                         .count = count},
                .in_place = true,
                .memory = memory_++};
    }

    // By update.
    std::vector<std::vector<int>> averages(int group,
                                           const std::vector<std::pair<int, std::int64_t>>& units) {
        std::vector<std::vector<int>> calls(static_cast<std::size_t>(updates_));
        for (const auto& [unit, count] : units) {
            const GroupCall one = average(fmt::format("gradients {}", unit), group, count, Op::avg);
            for (auto& of_update : calls) of_update.push_back(program_.add_call(one));
        }
        return calls;
    }

    std::vector<int> sums_of_embedding(int group) {
        const GroupCall one =
            average("tied embedding", group, model_.parameters.front().count(), Op::sum);
        std::vector<int> calls;
        for (int i = 0; i < updates_; ++i) calls.push_back(program_.add_call(one));
        return calls;
    }

    void send(Rank rank, int call, std::vector<int>& sent, Phase phase) {
        if (std::ssize(sent) == under_way) {
            program_.wait(rank, sent.front(), phase);
            sent.erase(sent.begin());
        }
        program_.start(rank, call, phase);
        sent.push_back(call);
    }

    void expect(Rank rank, const std::vector<int>& calls, Incoming& incoming) {
        if (incoming.expected < std::ssize(calls))
            program_.start(rank, at(calls, incoming.expected++), Phase::forward);
    }

    void receive(Rank rank, const std::vector<int>& calls, Incoming& incoming, Phase phase) {
        if (incoming.ahead > 0) {
            --incoming.ahead;
            return;
        }
        if (incoming.expected == incoming.used) expect(rank, calls, incoming);
        program_.wait(rank, at(calls, incoming.used++), phase);
    }

    void write(Rank rank, const StageAct& act, State& state) {
        switch (act.kind) {
            case Kind::receive_activation:
                return receive(rank, from_before(rank), state.activations, Phase::forward);
            case Kind::forward:
                return program_.compute(rank, act.ns, Phase::forward);
            case Kind::send_activation:
                return send(rank, at(forward_[index(rank)], state.next_activation++),
                            state.activations_sent, Phase::forward);
            case Kind::receive_gradient:
                return receive(rank, backward_[index(rank)], state.gradients, Phase::backward);
            case Kind::backward:
                return program_.compute(rank, act.ns, Phase::backward);
            case Kind::expect_activation:
                return expect(rank, from_before(rank), state.activations);
            case Kind::send_gradient:
                return send(rank, at(to_before(rank), state.next_gradient++), state.gradients_sent,
                            Phase::backward);
            case Kind::update:
                return update(rank, state);
        }
    }

    // An update waits for the one before, and goes on beside what follows.
    void update(Rank rank, State& state) {
        for (const int call : state.averaging) program_.wait(rank, call, Phase::optimizer);
        state.averaging.clear();
        const auto number = static_cast<std::size_t>(state.updates++);
        if (!mean_[index(rank)].empty()) state.averaging = mean_[index(rank)][number];
        if (const auto tied = tied_.find(rank.index); tied != tied_.end())
            state.averaging.push_back(tied->second[number]);
        for (const int call : state.averaging) program_.start(rank, call, Phase::optimizer);
    }

    static constexpr int under_way = 2;  // messages of a rank in a direction

    const Model& model_;
    const PipelineShape& shape_;
    RankGrid grid_;
    Program program_;
    int updates_;
    int memory_ = 0;
    std::vector<std::vector<int>> forward_, backward_;  // calls to and from the next stage, by rank
    std::vector<std::vector<std::vector<int>>> mean_;   // by rank and update
    std::map<int, std::vector<int>> tied_;              // by rank: by update
};

}  // namespace

Program pipeline_program(const Model& model, const PipelineShape& shape, std::int64_t compute_ns,
                         int ranks) {
    grid_of(ranks, shape.stages, "stages");
    const auto stage_of = stages_of_units(model, shape.stages);
    std::vector<StageTimes> times(static_cast<std::size_t>(shape.stages));
    const auto of_units = unit_times(model, compute_ns * shape.stages);
    for (std::size_t unit = 0; unit < of_units.size(); ++unit) {
        auto& mine = times[static_cast<std::size_t>(stage_of[unit])];
        mine.forward_ns += of_units[unit].forward_ns;
        mine.backward_ns += of_units[unit].backward_ns;
    }
    for (StageTimes& of_stage : times) {
        of_stage.forward_ns /= shape.micro_batches;
        of_stage.backward_ns /= shape.micro_batches;
    }
    Writer writer(model, shape, ranks);
    writer.add_calls(stage_of);
    const bool never_empty = shape.order == PipelineOrder::pipedream;
    const auto steady =
        never_empty ? steady_pipeline(times, shape.micro_batches) : std::vector<SteadyStage>{};
    for (int stage = 0; stage < shape.stages; ++stage) {
        const auto at = static_cast<std::size_t>(stage);
        writer.write(stage, never_empty
                                ? steady[at]
                                : SteadyStage{.acts = acts_of(shape.order, stage, shape.stages,
                                                              shape.micro_batches, times[at])});
    }
    return std::move(writer).done();
}

}  // namespace tutti
