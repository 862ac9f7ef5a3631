// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"
#include "workloads/scenarios/moe.hpp"
#include "workloads/scenarios/pattern_settings.hpp"
#include "workloads/scenarios/program_scenario.hpp"
#include "workloads/scenarios/rows.hpp"

namespace tutti {
namespace {

constexpr SettingRow settings[] = {
    {"model", "with experts: mixtral-8x7b", "mixtral-8x7b"},
    scale_setting,
    {"expert-ranks",
     "that share a layer's experts; more ranks are replicas of them; 0: as many as can be", "0"},
    {"zipf", "skew of the choice of experts: the i-th is liked as 1 / i^skew; 0: all alike", "0.5"},
    {"capacity", "an expert takes so many times the mean from a rank; the rest is dropped", "1.25"},
    tokens_setting,
    type_setting,
    {"routing-seed", "what the tokens' choices are drawn from", "1"},
    {"step-time", "what a rank computes in a step on the mean, forward and backward", "100ms"},
};

Model asked_mixture(const Settings& asked) {
    Model model = asked_transformer(asked, "mixtral-8x7b");
    if (model.transformer->experts < 2)
        throw Error(fmt::format("--model {}: {} has no experts; try mixtral-8x7b",
                                asked.text("model"), model.name));
    return model;
}

int asked_expert_ranks(const Settings& asked, const Model& model, int ranks) {
    const auto experts = static_cast<int>(model.transformer->experts);
    const auto wanted = static_cast<int>(asked.number("expert-ranks", 0, 4096));
    if (wanted > experts)
        throw Error(fmt::format("{} ranks cannot share the {} experts of {}: try --expert-ranks {}",
                                wanted, experts, model.name, experts));
    if (wanted > 0) return wanted;
    int most = std::min(ranks, experts);
    while (ranks % most != 0) --most;
    return most;
}

// Of a model scaled down to a token or none a sequence: as many as can still be routed with skew,
// four choices an expert with two of each token.
std::int64_t asked_routed_tokens(const Settings& asked, const Model& model) {
    const std::int64_t tokens = asked_tokens(asked, model);
    const bool is_typed = asked.number("tokens", 0, 1 << 24) > 0;
    return is_typed ? tokens : std::max(tokens, 2 * model.transformer->experts);
}

MoeShape shape_of(const Settings& asked, const Model& model, int ranks) {
    return {.expert_ranks = asked_expert_ranks(asked, model, ranks),
            .routing = {.experts = model.transformer->experts,
                        .experts_per_token = model.transformer->experts_per_token,
                        .tokens = asked_routed_tokens(asked, model),
                        .skew = asked.real("zipf", 0, 10),
                        .capacity = asked.real("capacity", 0.01, 1000),
                        .seed = static_cast<std::uint64_t>(
                            asked.number("routing-seed", 0, 1'000'000'000))},
            .type = asked_type(asked)};
}

void check_settings(const Settings& asked) {
    shape_of(asked, asked_mixture(asked), 1);
    asked_step_ns(asked);
}

std::unique_ptr<Scenario> make(const Settings& asked, const WorkloadEnvironment& environment) {
    const Model model = asked_mixture(asked);
    const int ranks = environment.planner.world().size();
    const MoeShape shape = shape_of(asked, model, ranks);
    MoeProgram made = moe_program(model, shape, asked_step_ns(asked), ranks);
    std::vector<std::string> notes{
        fmt::format("{}: {} experts a layer on {}, {}; {} a rank choose {} "
                    "each",
                    model.name, shape.routing.experts, counted(shape.expert_ranks, "rank"),
                    counted(ranks / shape.expert_ranks, "replica"),
                    counted(shape.routing.tokens, "token"), shape.routing.experts_per_token),
        fmt::format("an expert takes {} of a rank: {:.1f} % of the choices are dropped, {:.1f} "
                    "% of what is sent is padding; the busiest rank computes {:.2f} times the mean",
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
            .settings = settings,
            .check = check_settings,
            .make = make};
}

}  // namespace tutti
