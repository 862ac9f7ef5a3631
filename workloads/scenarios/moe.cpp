// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <span>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "base/units.hpp"
#include "workloads/models/compute_times.hpp"
#include "workloads/scenarios/patterns.hpp"
#include "workloads/scenarios/program_scenario.hpp"

namespace tutti {
namespace {

bool is_of_expert(const Parameter& parameter) {
    return parameter.name.find(".experts.") != std::string::npos;
}

// Weights of a unit, and the experts' share of its work.
struct UnitParts {
    std::int64_t dense = 0;
    std::int64_t expert = 0;  // elements of one expert
    double expert_work = 0;
};

std::vector<UnitParts> parts_of(const Model& model) {
    std::vector<UnitParts> parts(as_size(model.units()));
    std::vector<double> flops(parts.size());
    for (const Parameter& parameter : model.parameters) {
        const auto unit = as_size(parameter.unit);
        flops[unit] += parameter.forward_flops;
        if (is_of_expert(parameter)) {
            parts[unit].expert += parameter.count();
            parts[unit].expert_work += parameter.forward_flops;
        } else {
            parts[unit].dense += parameter.count();
        }
    }
    for (std::size_t unit = 0; unit < parts.size(); ++unit) {
        parts[unit].expert /= model.transformer->experts;
        if (flops[unit] > 0) parts[unit].expert_work /= flops[unit];
    }
    return parts;
}

std::int64_t sum_of(std::span<const std::int64_t> counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

class MoeWriter {
public:
    MoeWriter(const Model& model, const MoeShape& shape, int ranks)
        : shape_(shape),
          grid_(grid_of(ranks, shape.expert_ranks, "expert-ranks")),
          parts_(parts_of(model)),
          hidden_(model.transformer->hidden),
          result_{.program = empty_program(model, ranks)},
          all_(program(), every_rank_of(ranks)) {
        for (int block = 0; block < grid_.blocks; ++block)
            expert_groups_.emplace_back(program(), grid_.block(block));
        for (int place = 0; place < grid_.inner && grid_.blocks > 1; ++place)
            replicas_.emplace_back(program(), grid_.across(place));
        const MoeRouting& routing = shape.routing;
        mean_tokens_ = static_cast<double>(routing.tokens * routing.experts_per_token);
        if (shape.recorded == nullptr) return;
        double all = 0;
        for (const auto& matrix : shape.recorded->matrices)
            all += static_cast<double>(sum_of(matrix));
        mean_tokens_ =
            std::max(1.0, all / static_cast<double>(std::ssize(shape.recorded->matrices) *
                                                    std::int64_t{shape.recorded->rows}));
    }

    MoeProgram write(const std::vector<UnitTimes>& times) && {
        const int last = static_cast<int>(times.size()) - 1;
        for (int unit = 1; unit < last; ++unit)
            for (int block = 0; block < grid_.blocks; ++block)
                tokens_.push_back(tokens_of_layer(shape_, block, unit, last - 1));
        all_.compute(times.front().forward_ns, Phase::forward);
        for (int unit = 1; unit < last; ++unit)
            layer(unit, at(times, unit).forward_ns, Phase::forward);
        all_.compute(times.back().forward_ns + times.back().backward_ns, Phase::backward);
        average(last);
        for (int unit = last - 1; unit > 0; --unit) {
            layer(unit, at(times, unit).backward_ns, Phase::backward);
            average(unit);
        }
        all_.compute(times.front().backward_ns, Phase::backward);
        average(0);
        for (const auto& [group, call] : averages_) group->wait(call, Phase::optimizer);
        add_metrics();
        return std::move(result_);
    }

private:
    Program& program() { return result_.program; }
    std::int64_t most_experts() const { return divide_up(shape_.routing.experts, grid_.inner); }
    const LayerTokens& tokens_of(int unit, int block) const {
        return at(tokens_, (unit - 1) * grid_.blocks + block);
    }

    // Returns the tokens in each block of an equal all-to-all.
    std::int64_t padded(const std::vector<std::int64_t>& matrix) const {
        return shape_.recorded == nullptr ? most_experts() * capacity_of(shape_.routing)
                                          : std::ranges::max(matrix);
    }

    // Returns the call that sends tokens as the matrix says.
    Call call_of(const std::vector<std::int64_t>& matrix) {
        Call call{.collective = Collective::all_to_all, .type = shape_.type};
        if (shape_.blocks == Blocks::padded) {
            call.count = padded(matrix) * hidden_;
            return call;
        }
        std::vector<std::int64_t> elements = matrix;
        for (std::int64_t& count : elements) count *= hidden_;
        return program().with_lengths(call, elements, Blocks::exact);
    }

    void exchange(const std::string& label, int block, std::vector<Call> of_steps, int memory,
                  Phase phase) {
        GroupCall one{.label = label, .memory = 2 * block + memory};
        one.set_steps(std::move(of_steps));
        GroupWriter& group = at(expert_groups_, block);
        group.start_and_wait(group.add_call(std::move(one)), phase);
    }

    // Equal blocks need the counts of the own experts only, others those of all ranks.
    void exchange_counts(int unit, int block) {
        Call call{
            .collective = Collective::all_to_all, .type = DataType::int64, .count = most_experts()};
        if (shape_.blocks == Blocks::exact) {
            call.collective = Collective::all_gather;
            call.count =
                shape_.recorded == nullptr ? shape_.routing.experts : shape_.recorded->columns;
        }
        exchange(fmt::format("counts {}", unit), block, {call}, 0, Phase::forward);
    }

    // Runs the experts of all ranks of a block; how long depends on the tokens that arrive.
    void compute_experts(int block, const LayerTokens& tokens, std::int64_t ns, Phase phase) {
        for (int place = 0; place < grid_.inner; ++place) {
            std::vector<std::int64_t> of_steps;
            for (const auto& matrix : tokens.of_steps) {
                std::int64_t arriving = 0;
                for (int from = 0; from < grid_.inner; ++from)
                    arriving += at(matrix, from * grid_.inner + place);
                of_steps.push_back(std::llround(static_cast<double>(arriving) / mean_tokens_ *
                                                static_cast<double>(ns)));
            }
            program().compute(at(grid_.block(block), place), std::move(of_steps), phase);
        }
    }

    // Runs attention and routing, then the experts; in backward the reverse.
    void layer(int unit, std::int64_t ns, Phase phase) {
        const auto of_experts =
            static_cast<std::int64_t>(at(parts_, unit).expert_work * static_cast<double>(ns));
        if (phase == Phase::forward) all_.compute(ns - of_experts, phase);
        for (int block = 0; block < grid_.blocks; ++block) {
            const LayerTokens& tokens = tokens_of(unit, block);
            std::vector<Call> dispatch, combine;
            for (const auto& matrix : tokens.of_steps) {
                dispatch.push_back(call_of(matrix));
                combine.push_back(call_of(transposed(matrix, grid_.inner)));
            }
            if (phase == Phase::forward) exchange_counts(unit, block);
            exchange(fmt::format("dispatch {}", unit), block, std::move(dispatch), 1, phase);
            compute_experts(block, tokens, of_experts, phase);
            exchange(fmt::format("combine {}", unit), block, std::move(combine), 1, phase);
        }
        if (phase == Phase::backward) all_.compute(ns - of_experts, phase);
    }

    void average(const std::string& label, GroupWriter& group, std::int64_t count) {
        if (count == 0) return;
        const int call = group.add_call(all_reduce_call(label, shape_.type, count));
        group.start(call, Phase::backward);
        averages_.emplace_back(&group, call);
    }

    void average(int unit) {
        const UnitParts& part = at(parts_, unit);
        average(fmt::format("dense gradients {}", unit), all_, part.dense);
        for (int place = 0; place < std::ssize(replicas_); ++place)
            average(fmt::format("gradients of experts {}", unit), at(replicas_, place),
                    part.expert * experts_at(shape_, place));
    }

    void add_metrics() {
        std::int64_t routed = 0, dropped = 0, places = 0;
        for (const LayerTokens& tokens : tokens_) {
            dropped += tokens.dropped;
            for (const auto& matrix : tokens.of_steps) {
                routed += sum_of(matrix);
                places += padded(matrix) * std::ssize(matrix);
            }
        }
        const auto share_of = [](std::int64_t part, std::int64_t all) {
            return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
        };
        result_.dropped_share = share_of(dropped, routed + dropped);
        if (shape_.blocks == Blocks::padded)
            result_.padding_share = share_of(places - routed, places);
        result_.steps = tokens_.front().of_steps.size();
        std::int64_t busiest = 0, all = 0;
        for (std::size_t step = 0; step < result_.steps; ++step) {
            std::vector<std::int64_t> ns;
            for (const Rank rank : every_rank_of(grid_.ranks()))
                ns.push_back(compute_ns_of_step(program(), rank, static_cast<int>(step)));
            busiest += std::ranges::max(ns);
            all += sum_of(ns);
        }
        if (all > 0) result_.imbalance = share_of(busiest * grid_.ranks(), all);
    }

    const MoeShape& shape_;
    RankGrid grid_;
    std::vector<UnitParts> parts_;
    std::int64_t hidden_;
    double mean_tokens_ = 1;  // per rank and layer
    MoeProgram result_;
    GroupWriter all_;
    std::deque<GroupWriter> expert_groups_, replicas_;  // by block; by place in a block
    std::vector<LayerTokens> tokens_;                   // by layer and block
    std::vector<std::pair<GroupWriter*, int>> averages_;
};

}  // namespace

MoeProgram moe_program(const Model& model, const MoeShape& shape, std::int64_t compute_ns,
                       int ranks) {
    return MoeWriter(model, shape, ranks).write(unit_times(model, compute_ns));
}

namespace {

constexpr SettingRow setting_rows[] = {
    {"model", "Transformer with experts, e.g. mixtral-8x7b", "mixtral-8x7b"},
    scale_setting,
    {"expert-ranks",
     "Ranks that share a layer's experts; further ranks are replicas; 0: as many as possible", "0"},
    {"zipf",
     "Skew of expert popularity: expert i is chosen in proportion to 1 / i^skew; 0: all alike",
     "0.5"},
    {"capacity", "Tokens an expert takes from a rank, relative to the mean; more are dropped",
     "1.25"},
    tokens_setting,
    type_setting,
    {"routing-seed", "Seed for the tokens' choices of experts", "1"},
    {"routing",
     "File of recorded routing, instead of drawn choices: matrices of the tokens that each rank "
     "(row) "
     "sends to each rank or expert (column); layers take them in order, step after step",
     ""},
    {"padding",
     "Padding of all-to-alls to equal blocks: yes, no (only the tokens are sent), or both as two "
     "variants of each method; auto: both with --routing, else yes",
     "auto"},
    step_time_setting,
};

Model mixture_model(const Settings& settings) {
    Model model = transformer_model(settings, "mixtral-8x7b");
    if (model.transformer->experts < 2)
        throw Error(fmt::format("--model {}: {} has no experts; use mixtral-8x7b",
                                settings.text("model"), model.name));
    return model;
}

int expert_ranks_of(const Settings& settings, const Model& model, int ranks) {
    const auto experts = static_cast<int>(model.transformer->experts);
    const auto wanted = static_cast<int>(settings.number("expert-ranks", 0, 4096));
    if (wanted > experts)
        throw Error(fmt::format("{} ranks cannot share the {} experts of {}; use --expert-ranks {}",
                                wanted, experts, model.name, experts));
    if (wanted > 0) return wanted;
    int most = std::min(ranks, experts);
    while (ranks % most != 0) --most;
    return most;
}

// A scaled-down model may have no tokens a sequence. Then uses the least number that can be routed
// with skew: four choices an expert, two for each token.
std::int64_t routed_tokens_of(const Settings& settings, const Model& model) {
    const std::int64_t tokens = tokens_of(settings, model);
    const bool is_typed = settings.number("tokens", 0, 1 << 24) > 0;
    return is_typed ? tokens : std::max(tokens, 2 * model.transformer->experts);
}

MoeShape shape_of(const Settings& settings, const Model& model, int ranks) {
    return {.expert_ranks = expert_ranks_of(settings, model, ranks),
            .routing = {.experts = model.transformer->experts,
                        .experts_per_token = model.transformer->experts_per_token,
                        .tokens = routed_tokens_of(settings, model),
                        .skew = settings.real("zipf", 0, 10),
                        .capacity = settings.real("capacity", 0.01, 1000),
                        .seed = static_cast<std::uint64_t>(
                            settings.number("routing-seed", 0, 1'000'000'000))},
            .type = element_type(settings)};
}

// Returns what --padding auto means.
std::string_view usual_padding(const Settings& settings) {
    return settings.text("routing").empty() ? "yes" : "both";
}

// Returns the recorded routing; none if it is drawn.
std::optional<CountMatrices> recorded_routing(const Settings& settings) {
    const std::string& file = settings.text("routing");
    if (file.empty()) return std::nullopt;
    for (const SettingRow& row : setting_rows)
        for (const std::string_view drawn : {"zipf", "capacity", "tokens", "routing-seed"})
            if (row.name == drawn && settings.text(drawn) != row.default_value)
                throw Error(
                    fmt::format("--{} cannot be used with --routing, which has the tokens; "
                                "omit one of them",
                                drawn));
    return read_count_matrices(file, "--routing");
}

void check_settings(const Settings& settings) {
    shape_of(settings, mixture_model(settings), 1);
    padding_of(settings, usual_padding(settings));
    recorded_routing(settings);
    step_ns_of(settings);
}

std::string note_of_routing(const MoeShape& shape, const MoeProgram& made) {
    std::string note;
    if (shape.recorded == nullptr)
        note = fmt::format(
            "an expert takes at most {} from a rank: {:.1f} % of the choices are "
            "dropped",
            counted(capacity_of(shape.routing), "token"), 100 * made.dropped_share);
    else
        note = fmt::format("routing of {}: {} routed layers of {} and {}, which repeat after {}",
                           printable(shape.recorded->name), shape.recorded->matrices.size(),
                           counted(shape.recorded->rows, "row"),
                           counted(shape.recorded->columns, "column"),
                           counted(static_cast<std::int64_t>(made.steps), "step"));
    if (shape.blocks == Blocks::padded)
        note += fmt::format(", {:.1f} % of the data sent is padding", 100 * made.padding_share);
    return note + fmt::format("; the busiest rank computes {:.2f} times the mean", made.imbalance);
}

std::unique_ptr<Scenario> make(const Settings& settings, const WorkloadEnvironment& environment) {
    const Model model = mixture_model(settings);
    const int ranks = environment.planner.world().size();
    const auto recorded = recorded_routing(settings);
    MoeShape shape = shape_of(settings, model, ranks);
    shape.recorded = recorded ? &*recorded : nullptr;
    grid_of(ranks, shape.expert_ranks, "expert-ranks");
    if (recorded) require_fit(*recorded, shape, ranks);
    const auto scenario_with = [&](Blocks blocks) {
        shape.blocks = blocks;
        MoeProgram made = moe_program(model, shape, step_ns_of(settings), ranks);
        std::vector<std::string> notes{
            fmt::format("{}: {} experts per layer on {}, {}", model.name, shape.routing.experts,
                        counted(shape.expert_ranks, "rank"),
                        counted(ranks / shape.expert_ranks, "replica")),
            note_of_routing(shape, made)};
        if (!recorded)
            notes.front() += fmt::format("; each rank has {}, with {} experts per token",
                                         counted(shape.routing.tokens, "token"),
                                         shape.routing.experts_per_token);
        std::vector<Metric> metrics;
        if (!recorded) metrics.push_back({"dropped_share", made.dropped_share});
        metrics.push_back({"padding_share", made.padding_share});
        metrics.push_back({"imbalance", made.imbalance});
        return scenario_of(std::move(made.program), std::move(notes), std::move(metrics),
                           environment);
    };
    return with_padding(padding_of(settings, usual_padding(settings)), scenario_with);
}

}  // namespace

Workload moe_workload() {
    return {.name = "moe",
            .what =
                "expert parallel: tokens sent to their experts and back by all-to-all, with "
                "skewed or recorded routing",
            .settings = setting_rows,
            .check = check_settings,
            .make = make};
}

}  // namespace tutti
