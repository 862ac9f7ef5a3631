// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <random>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "base/units.hpp"
#include "workloads/models/compute_times.hpp"
#include "workloads/scenarios/patterns.hpp"
#include "workloads/scenarios/program_scenario.hpp"

namespace tutti {
namespace {

// Distributions of the standard differ between libraries, engines do not.
double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

std::mt19937_64 engine(std::uint64_t seed, int layer, int rank) {
    std::seed_seq mixed{seed, static_cast<std::uint64_t>(layer), static_cast<std::uint64_t>(rank)};
    return std::mt19937_64(mixed);
}

// Returns the popularity of each expert in a layer, the same on all ranks.
std::vector<double> popularity_of(const MoeRouting& routing, int layer) {
    std::vector<double> popularity;
    for (std::int64_t i = 1; i <= routing.experts; ++i)
        popularity.push_back(std::pow(static_cast<double>(i), -routing.skew));
    auto random = engine(routing.seed, layer, -1);
    for (std::size_t i = popularity.size(); i > 1; --i)
        std::swap(popularity[i - 1], at(popularity, random() % i));
    return popularity;
}

}  // namespace

std::int64_t capacity_of(const MoeRouting& routing) {
    const double mean = static_cast<double>(routing.tokens * routing.experts_per_token) /
                        static_cast<double>(routing.experts);
    // A token never chooses an expert twice.
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(routing.capacity * mean)),
                                    1, routing.tokens);
}

RoutedTokens route(const MoeRouting& routing, int layer, int rank) {
    const auto popularity = popularity_of(routing, layer);
    auto random = engine(routing.seed, layer, rank);
    const std::int64_t capacity = capacity_of(routing);
    RoutedTokens routed{std::vector<std::int64_t>(popularity.size()), 0};
    for (std::int64_t token = 0; token < routing.tokens; ++token) {
        std::vector<double> left = popularity;
        for (std::int64_t choice = 0; choice < routing.experts_per_token; ++choice) {
            double all = 0;
            for (const double one : left) all += one;
            double at = uniform(random) * all;
            std::size_t chosen = 0, last = 0;
            for (std::size_t expert = 0; expert < left.size(); ++expert) {
                if (left[expert] <= 0) continue;
                last = chosen = expert;
                if ((at -= left[expert]) < 0) break;
            }
            left[last] = 0;
            if (routed.accepted[chosen] < capacity)
                ++routed.accepted[chosen];
            else
                ++routed.dropped;
        }
    }
    return routed;
}

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

class MoeWriter {
public:
    MoeWriter(const Model& model, const MoeShape& shape, int ranks)
        : shape_(shape),
          grid_(grid_of(ranks, shape.expert_ranks, "expert-ranks")),
          parts_(parts_of(model)),
          hidden_(model.transformer->hidden),
          experts_(shape.routing.experts),
          result_{.program = empty_program(model, ranks)},
          all_(program(), every_rank_of(ranks)) {
        for (int block = 0; block < grid_.blocks; ++block)
            expert_groups_.emplace_back(program(), grid_.block(block));
        for (int place = 0; place < grid_.inner && grid_.blocks > 1; ++place)
            replicas_.emplace_back(program(), grid_.across(place));
    }

    MoeProgram write(const std::vector<UnitTimes>& times) && {
        const int last = static_cast<int>(times.size()) - 1;
        for (int unit = 1; unit < last; ++unit) loads_.push_back(loads_of(unit));
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
    int first_expert(int place) const { return static_cast<int>(experts_ * place / grid_.inner); }
    std::int64_t most_experts() const { return divide_up(experts_, grid_.inner); }

    // Returns the tokens of each rank's experts, relative to the mean.
    std::vector<double> loads_of(int unit) {
        const MoeRouting& routing = shape_.routing;
        std::vector<double> loads(as_size(grid_.ranks()));
        for (const Rank rank : every_rank_of(grid_.ranks())) {
            const RoutedTokens routed = route(routing, unit, rank.index);
            dropped_ += routed.dropped;
            const int block = rank.index / grid_.inner;
            for (int place = 0; place < grid_.inner; ++place)
                for (int expert = first_expert(place); expert < first_expert(place + 1); ++expert) {
                    const auto accepted = at(routed.accepted, expert);
                    routed_ += accepted;
                    at(loads, block * grid_.inner + place) += static_cast<double>(accepted);
                }
        }
        for (double& load : loads)
            load /= static_cast<double>(routing.tokens * routing.experts_per_token);
        return loads;
    }

    void exchange(const std::string& label, int block, DataType type, std::int64_t count,
                  int memory, Phase phase) {
        GroupWriter& group = at(expert_groups_, block);
        group.start_and_wait(
            group.add_call(
                {.label = label,
                 .call = {.collective = Collective::all_to_all, .type = type, .count = count},
                 .memory = 2 * block + memory}),
            phase);
    }

    // Runs attention and routing, then the experts; in backward the reverse.
    void layer(int unit, std::int64_t ns, Phase phase) {
        const auto& loads = at(loads_, unit - 1);
        const auto of_experts =
            static_cast<std::int64_t>(at(parts_, unit).expert_work * static_cast<double>(ns));
        const std::int64_t places = most_experts() * capacity_of(shape_.routing);
        if (phase == Phase::forward) all_.compute(ns - of_experts, phase);
        for (int block = 0; block < grid_.blocks; ++block) {
            if (phase == Phase::forward)
                exchange(fmt::format("counts {}", unit), block, DataType::int64, most_experts(), 0,
                         phase);
            exchange(fmt::format("dispatch {}", unit), block, shape_.type, places * hidden_, 1,
                     phase);
            for (const Rank rank : grid_.block(block))
                program().compute(
                    rank, std::llround(at(loads, rank) * static_cast<double>(of_experts)), phase);
            exchange(fmt::format("combine {}", unit), block, shape_.type, places * hidden_, 1,
                     phase);
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
                    part.expert * (first_expert(place + 1) - first_expert(place)));
    }

    void add_metrics() {
        const auto chosen = static_cast<double>(routed_ + dropped_);
        const double places = static_cast<double>(std::ssize(loads_)) *
                              static_cast<double>(grid_.ranks() * grid_.inner * most_experts() *
                                                  capacity_of(shape_.routing));
        result_.dropped_share = static_cast<double>(dropped_) / chosen;
        result_.padding_share = 1 - static_cast<double>(routed_) / places;
        std::vector<std::int64_t> ns;
        for (const Rank rank : every_rank_of(grid_.ranks()))
            ns.push_back(compute_ns_of_step(program(), rank, 0));
        const auto all = std::accumulate(ns.begin(), ns.end(), std::int64_t{0});
        if (all > 0)
            result_.imbalance = static_cast<double>(std::ranges::max(ns)) * grid_.ranks() /
                                static_cast<double>(all);
    }

    const MoeShape& shape_;
    RankGrid grid_;
    std::vector<UnitParts> parts_;
    std::int64_t hidden_;
    std::int64_t experts_;
    MoeProgram result_;
    GroupWriter all_;
    std::deque<GroupWriter> expert_groups_, replicas_;  // by block; by place in a block
    std::vector<std::vector<double>> loads_;            // by layer and rank
    std::vector<std::pair<GroupWriter*, int>> averages_;
    std::int64_t routed_ = 0, dropped_ = 0;
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

void check_settings(const Settings& settings) {
    shape_of(settings, mixture_model(settings), 1);
    step_ns_of(settings);
}

std::unique_ptr<Scenario> make(const Settings& settings, const WorkloadEnvironment& environment) {
    const Model model = mixture_model(settings);
    const int ranks = environment.planner.world().size();
    const MoeShape shape = shape_of(settings, model, ranks);
    MoeProgram made = moe_program(model, shape, step_ns_of(settings), ranks);
    std::vector<std::string> notes{
        fmt::format(
            "{}: {} experts per layer on {}, {}; each rank has {}, with {} experts per token",
            model.name, shape.routing.experts, counted(shape.expert_ranks, "rank"),
            counted(ranks / shape.expert_ranks, "replica"), counted(shape.routing.tokens, "token"),
            shape.routing.experts_per_token),
        fmt::format(
            "an expert takes at most {} from a rank: {:.1f} % of the choices are dropped, {:.1f} % "
            "of the data sent is padding; the busiest rank computes {:.2f} times the mean",
            counted(capacity_of(shape.routing), "token"), 100 * made.dropped_share,
            100 * made.padding_share, made.imbalance)};
    std::vector<Metric> metrics{{"dropped_share", made.dropped_share},
                                {"padding_share", made.padding_share},
                                {"imbalance", made.imbalance}};
    return scenario_of(std::move(made.program), std::move(notes), std::move(metrics), environment);
}

}  // namespace

Workload moe_workload() {
    return {.name = "moe",
            .what =
                "expert parallel: tokens sent to their experts and back by all-to-all, with "
                "skewed routing",
            .settings = setting_rows,
            .check = check_settings,
            .make = make};
}

}  // namespace tutti
