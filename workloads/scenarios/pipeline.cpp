// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/index.hpp"
#include "base/units.hpp"
#include "workloads/models/compute_times.hpp"
#include "workloads/program/ideal_run.hpp"
#include "workloads/scenarios/patterns.hpp"
#include "workloads/scenarios/program_scenario.hpp"

namespace tutti {
namespace {

using Kind = StageAction::Kind;

class PipelineWriter {
public:
    PipelineWriter(const Model& model, const PipelineShape& shape, int ranks)
        : model_(model),
          shape_(shape),
          // A block is the replicas of a stage.
          grid_(grid_of(ranks, ranks / shape.stages, "stages")),
          program_(empty_program(model, ranks)),
          updates_(shape.order == PipelineOrder::pipedream ? shape.micro_batches : 1) {}

    void add_calls(const std::vector<int>& stage_of) {
        forward_.resize(as_size(grid_.ranks()));
        backward_ = forward_;
        mean_.resize(as_size(grid_.ranks()));
        for (int replica = 0; replica < grid_.inner; ++replica)
            for (int stage = 0; stage + 1 < shape_.stages; ++stage) {
                const Rank from = rank_of(stage, replica), to = rank_of(stage + 1, replica);
                at(forward_, from) = link(from, to, Rank{0}, "activation");
                at(backward_, from) = link(from, to, Rank{1}, "gradient");
            }
        const auto counts = model_.unit_counts();
        if (grid_.inner > 1)
            for (int stage = 0; stage < shape_.stages; ++stage) {
                GroupWriter replicas(program_, grid_.block(stage));
                std::vector<std::vector<int>> calls(as_size(updates_));
                // In the order in which gradients become ready.
                for (int unit = int_size(counts) - 1; unit >= 0; --unit) {
                    if (at(stage_of, unit) != stage) continue;
                    const auto means =
                        of_updates(replicas, all_reduce_call(fmt::format("gradients {}", unit),
                                                             shape_.type, at(counts, unit)));
                    for (std::size_t update = 0; update < calls.size(); ++update)
                        calls[update].push_back(means[update]);
                }
                for (const Rank rank : replicas.members()) at(mean_, rank) = calls;
            }
        if (shape_.stages > 1 && has_tied_head(model_))
            for (int replica = 0; replica < grid_.inner; ++replica) {
                const Rank first = rank_of(0, replica), last = rank_of(shape_.stages - 1, replica);
                GroupWriter ends(program_, {first, last});
                tied_[first.index] = tied_[last.index] =
                    of_updates(ends, all_reduce_call("tied embedding", shape_.type,
                                                     model_.parameters.front().count(), Op::sum));
            }
    }

    void write(int stage, const StageStep& of_stage) {
        for (const Rank rank : grid_.block(stage)) {
            State state;
            state.activations.ahead = of_stage.activations_ahead;
            state.gradients.ahead = of_stage.gradients_ahead;
            for (const StageAction& action : of_stage.actions) write(rank, action, state);
            // Receives what the next step uses first.
            std::vector<int> open;
            const auto receive_rest = [&](const std::vector<int>& calls, Incoming& incoming) {
                while (incoming.expected < std::ssize(calls)) expect(rank, calls, incoming);
                open.insert(open.end(), calls.begin() + incoming.used, calls.end());
            };
            if (stage > 0) receive_rest(from_previous(rank), state.activations);
            if (stage + 1 < shape_.stages) receive_rest(at(backward_, rank), state.gradients);
            for (const int call : open) program_.wait(rank, call, Phase::backward);
            for (const auto* sent : {&state.activations_sent, &state.gradients_sent})
                for (const int call : *sent) program_.wait(rank, call, Phase::backward);
            for (const int call : state.averaging) program_.wait(rank, call, Phase::optimizer);
        }
    }

    Program done() && { return std::move(program_); }

private:
    struct Incoming {
        int ahead = 0;     // arrived before the step began, not used yet
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

    Rank rank_of(int stage, int replica) const { return {stage * grid_.inner + replica}; }
    // Returns the calls with the previous stage.
    const std::vector<int>& from_previous(Rank rank) const {
        return at(forward_, rank.index - grid_.inner);
    }
    const std::vector<int>& to_previous(Rank rank) const {
        return at(backward_, rank.index - grid_.inner);
    }

    // Makes a group for each direction, as the two ends start calls of both directions in different
    // orders.
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

    // Adds an all-reduce that each update repeats on the same memory.
    std::vector<int> of_updates(GroupWriter& group, GroupCall call) {
        call.memory = memory_++;
        std::vector<int> calls;
        for (int i = 0; i < updates_; ++i) calls.push_back(group.add_call(call));
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

    void write(Rank rank, const StageAction& action, State& state) {
        switch (action.kind) {
            case Kind::receive_activation:
                return receive(rank, from_previous(rank), state.activations, Phase::forward);
            case Kind::forward:
                return program_.compute(rank, action.ns, Phase::forward);
            case Kind::send_activation:
                return send(rank, at(at(forward_, rank), state.next_activation++),
                            state.activations_sent, Phase::forward);
            case Kind::receive_gradient:
                return receive(rank, at(backward_, rank), state.gradients, Phase::backward);
            case Kind::backward:
                return program_.compute(rank, action.ns, Phase::backward);
            case Kind::expect_activation:
                return expect(rank, from_previous(rank), state.activations);
            case Kind::send_gradient:
                return send(rank, at(to_previous(rank), state.next_gradient++),
                            state.gradients_sent, Phase::backward);
            case Kind::update:
                return update(rank, state);
        }
    }

    // An update waits for the previous one, and overlaps with what follows.
    void update(Rank rank, State& state) {
        for (const int call : state.averaging) program_.wait(rank, call, Phase::optimizer);
        state.averaging.clear();
        const auto number = as_size(state.updates++);
        if (!at(mean_, rank).empty()) state.averaging = at(mean_, rank)[number];
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
    std::vector<StageTimes> times(as_size(shape.stages));
    const auto of_units = unit_times(model, compute_ns * shape.stages);
    for (std::size_t unit = 0; unit < of_units.size(); ++unit) {
        auto& mine = at(times, stage_of[unit]);
        mine.forward_ns += of_units[unit].forward_ns;
        mine.backward_ns += of_units[unit].backward_ns;
    }
    for (StageTimes& of_stage : times) {
        of_stage.forward_ns /= shape.micro_batches;
        of_stage.backward_ns /= shape.micro_batches;
    }
    PipelineWriter writer(model, shape, ranks);
    writer.add_calls(stage_of);
    const bool never_empty = shape.order == PipelineOrder::pipedream;
    const auto steady =
        never_empty ? steady_pipeline(times, shape.micro_batches) : std::vector<StageStep>{};
    for (int stage = 0; stage < shape.stages; ++stage)
        writer.write(
            stage, never_empty ? at(steady, stage) : flushed_stage(shape, stage, at(times, stage)));
    return std::move(writer).done();
}

namespace {

constexpr SettingRow setting_rows[] = {
    {"model", "Transformer whose blocks are distributed over the stages", "gpt2"},
    scale_setting,
    {"schedule",
     "Schedule: gpipe, 1f1b or pipedream (asynchronous: no bubble, more weight versions)", "1f1b"},
    {"stages", "Number of stages; further ranks are replicas; 0: one per rank", "0"},
    {"micro-batches", "Micro-batches per step", "8"},
    tokens_setting,
    type_setting,
    step_time_setting,
};

PipelineShape shape_of(const Settings& settings, const Model& model, int ranks) {
    const auto stages = static_cast<int>(settings.number("stages", 0, 4096));
    return {.order =
                settings.word<PipelineOrder>("schedule", {{"gpipe", PipelineOrder::gpipe},
                                                          {"1f1b", PipelineOrder::one_forward_one},
                                                          {"pipedream", PipelineOrder::pipedream}}),
            .stages = stages > 0 ? stages : ranks,
            .micro_batches = static_cast<int>(settings.number("micro-batches", 1, 4096)),
            .tokens = tokens_of(settings, model),
            .type = element_type(settings)};
}

void check_settings(const Settings& settings) {
    const Model model = transformer_model(settings, "gpt2, bert-base, llama3-8b");
    stages_of_units(model, shape_of(settings, model, 1).stages);
    step_ns_of(settings);
}

std::unique_ptr<Scenario> make(const Settings& settings, const WorkloadEnvironment& environment) {
    const Model model = transformer_model(settings, "gpt2, bert-base, llama3-8b");
    const int ranks = environment.planner.world().size();
    const PipelineShape shape = shape_of(settings, model, ranks);
    Program program = pipeline_program(model, shape, step_ns_of(settings), ranks);
    check(program);
    const double bubble = ideal_run(program).idle_share();
    const bool is_flushed = shape.order != PipelineOrder::pipedream;
    const int p = shape.stages, m = shape.micro_batches;
    const int stored_activations =
        is_flushed ? most_in_flight(shape.order, 0, p, m) : weight_versions(shape.order, 0, p);
    std::vector<std::string> notes{
        fmt::format("{}: {} layers in {}, {}; {} of {}, {} bytes between two stages", model.name,
                    model.transformer->layers, counted(p, "stage"), counted(ranks / p, "replica"),
                    counted(m, "micro-batch"), counted(shape.tokens, "token"),
                    shape.tokens * model.transformer->hidden *
                        static_cast<std::int64_t>(size_of(shape.type))),
        fmt::format("bubble: {:.1f} % of the ranks' time if communication took no time; "
                    "(P-1)/(M+P-1) = {:.1f} % if all stages took equally long{}",
                    100 * bubble, 100.0 * (p - 1) / (m + p - 1),
                    is_flushed ? "" : " and the pipeline ran empty each step"),
        fmt::format("the first stage keeps {} of its weights and activations of {}",
                    counted(weight_versions(shape.order, 0, p), "version"),
                    counted(stored_activations, "micro-batch"))};
    std::vector<Metric> metrics{
        {"bubble_share", bubble},
        {"weight_versions", static_cast<double>(weight_versions(shape.order, 0, p))},
        {"activations_kept", static_cast<double>(stored_activations)}};
    return scenario_of(std::move(program), std::move(notes), std::move(metrics), environment);
}

}  // namespace

Workload pipeline_workload() {
    return {.name = "pipeline",
            .what =
                "pipeline parallel: activations from stage to stage, gradients back (GPipe, "
                "1F1B, PipeDream)",
            .settings = setting_rows,
            .check = check_settings,
            .make = make};
}

}  // namespace tutti
