// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"
#include "workloads/program/ideal_run.hpp"
#include "workloads/scenarios/pattern_settings.hpp"
#include "workloads/scenarios/pipeline.hpp"
#include "workloads/scenarios/program_scenario.hpp"

namespace tutti {
namespace {

constexpr SettingRow setting_rows[] = {
    {"model", "whose blocks are shared out: a transformer", "gpt2"},
    scale_setting,
    {"schedule", "gpipe, 1f1b, pipedream (asynchronous: no bubble, more weight versions)", "1f1b"},
    {"stages", "that the model is cut into; more ranks are replicas of them; 0: all ranks", "0"},
    {"micro-batches", "of a step", "8"},
    tokens_setting,
    type_setting,
    {"step-time", "what a rank computes in a step on the mean, forward and backward", "100ms"},
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
        fmt::format("{}: {} layers in {}, {}; {} of {}, {} "
                    "bytes over a boundary",
                    model.name, model.transformer->layers, counted(p, "stage"),
                    counted(ranks / p, "replica"), counted(m, "micro-batch"),
                    counted(shape.tokens, "token"),
                    shape.tokens * model.transformer->hidden *
                        static_cast<std::int64_t>(size_of(shape.type))),
        fmt::format("bubble: {:.1f} % of the ranks' time with free communication; (P-1)/(M+P-1) = "
                    "{:.1f} % if all stages were alike{}",
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
