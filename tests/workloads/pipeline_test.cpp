// SPDX-License-Identifier: Apache-2.0
// Messages between stages, their idle time, and the number of weight versions.
#include <fmt/format.h>

#include "tests/workloads/patterns.hpp"
#include "workloads/models/model.hpp"
#include "workloads/models/model_list.hpp"
#include "workloads/scenarios/patterns.hpp"

namespace tutti {
namespace {

constexpr PipelineOrder all_orders[] = {PipelineOrder::gpipe, PipelineOrder::one_forward_one,
                                        PipelineOrder::pipedream};

// All work is in blocks that are alike.
Model alike(int blocks) {
    Model model{.name = "alike"};
    for (int unit = 0; unit < blocks + 2; ++unit) {
        const bool is_block = unit > 0 && unit <= blocks;
        model.parameters.push_back({.name = fmt::format("{}", unit),
                                    .shape = {10},
                                    .forward_flops = is_block ? 1.0 : 0.0,
                                    .unit = unit});
        model.ready_order.insert(model.ready_order.begin(), unit);
    }
    model.transformer = Transformer{.layers = blocks, .hidden = 16, .vocabulary = 5, .sequence = 4};
    return model;
}

}  // namespace

TEST(Pipeline, IsSoundForAllRanksStagesAndOrders) {
    for (const char* name : {"gpt2", "llama3-8b"}) {
        const Model model = find_model(name).model;
        for (int ranks = 1; ranks <= 8; ++ranks)
            for (int stages = 1; stages <= ranks; ++stages) {
                if (ranks % stages != 0) continue;
                for (const PipelineOrder order : all_orders)
                    for (const int micro_batches : {1, 2, 3, 8, 20}) {
                        SCOPED_TRACE(fmt::format("{}, {} stages of {} ranks, {} micro-batches",
                                                 static_cast<int>(order), stages, ranks,
                                                 micro_batches));
                        expect_sound(pipeline_program(
                            model,
                            {.order = order, .stages = stages, .micro_batches = micro_batches},
                            1'000'000, ranks));
                    }
            }
    }
}

TEST(Pipeline, HandsOverActivationsAndGradientsAtEachBoundary) {
    const Model model = find_model("gpt2").model;
    const std::int64_t embedding = 4 * 50257 * 768;
    for (const PipelineOrder order : all_orders)
        for (const int stages : {2, 3, 4}) {
            const int replicas = 2;
            const PipelineShape shape{
                .order = order, .stages = stages, .micro_batches = 5, .tokens = 100};
            const Program program = pipeline_program(model, shape, 1000, stages * replicas);
            const std::int64_t updates = order == PipelineOrder::pipedream ? 5 : 1;
            const auto stage_of = stages_of_units(model, stages);
            for (int stage = 0; stage < stages; ++stage) {
                const bool is_end = stage == 0 || stage + 1 == stages;
                std::int64_t mine = 0;
                for (std::size_t unit = 0; unit < stage_of.size(); ++unit)
                    if (stage_of[unit] == stage) mine += 4 * model.unit_counts()[unit];
                const std::int64_t boundaries = is_end ? 1 : 2;
                const std::int64_t expected = boundaries * 2 * 5 * (4 * 100 * 768) +
                                              updates * (mine + (is_end ? embedding : 0));
                for (int replica = 0; replica < replicas; ++replica)
                    EXPECT_EQ(bytes_of_step(program, Rank{stage * replicas + replica}), expected);
            }
        }
}

TEST(Pipeline, AveragesReplicasAndAddsUpTheEmbedding) {
    for (const PipelineOrder order : all_orders) {
        const Program program = pipeline_program(
            find_model("gpt2").model, {.order = order, .stages = 2, .micro_batches = 3}, 1000, 4);
        expect_op(program, "gradients", Op::avg);
        expect_op(program, "tied embedding", Op::sum);
    }
}

// An update overlaps with the next micro-batch in a pipeline that never runs empty; in a flushed
// one no computing is left.
TEST(Pipeline, HidesUpdatesUnlessItIsFlushed) {
    for (const PipelineOrder order : all_orders) {
        const Program program =
            pipeline_program(find_model("gpt2").model,
                             {.order = order, .stages = 1, .micro_batches = 5}, 1'000'000, 2);
        const std::int64_t of_update = 4 * find_model("gpt2").model.count();
        EXPECT_EQ(hideable_bytes_of_step(program, Rank{1}),
                  order == PipelineOrder::pipedream ? 5 * of_update : 0);
    }
}

TEST(Pipeline, IdlesAsItsFormulaSays) {
    for (const int stages : {1, 2, 3, 4, 8})
        for (const int micro_batches : {1, 4, 8, 32}) {
            const auto bubble = [&](PipelineOrder order) {
                // 3 ns per block and micro-batch, so that nothing is rounded.
                const std::int64_t ns = 3000 * micro_batches;
                return ideal_run(
                           pipeline_program(
                               alike(stages),
                               {.order = order, .stages = stages, .micro_batches = micro_batches},
                               ns, stages))
                    .idle_share();
            };
            const double formula = (stages - 1.0) / (micro_batches + stages - 1.0);
            EXPECT_NEAR(bubble(PipelineOrder::gpipe), formula, 1e-9);
            EXPECT_NEAR(bubble(PipelineOrder::one_forward_one), formula, 1e-9);
            EXPECT_NEAR(bubble(PipelineOrder::pipedream), 0, 1e-9) << stages << micro_batches;
        }
}

TEST(Pipeline, ThatIsFlushedNeedsNoCallThatGoesOnByItself) {
    for (const PipelineOrder order : {PipelineOrder::gpipe, PipelineOrder::one_forward_one})
        for (int stages = 2; stages <= 8; ++stages)
            for (const int micro_batches : {1, 2, 9, 20})
                EXPECT_NO_THROW(ideal_run(
                    pipeline_program(
                        find_model("gpt2").model,
                        {.order = order, .stages = stages, .micro_batches = micro_batches}, 1000,
                        stages),
                    SendMode::blocking))
                    << static_cast<int>(order) << " " << stages << " " << micro_batches;
}

TEST(Pipeline, ThatNeverRunsEmptyUsesAMessageInTheStepItWasSentInOrTheNext) {
    for (int stages = 2; stages <= 8; ++stages)
        for (const std::int64_t last : {3, 5, 9}) {
            std::vector<StageTimes> times(static_cast<std::size_t>(stages), {10, 20});
            times.back() = {10 * last, 20 * last};
            const auto steady = steady_pipeline(times, 4);
            for (const StageStep& stage : steady) {
                EXPECT_TRUE(stage.activations_ahead == 0 || stage.activations_ahead == 1);
                EXPECT_TRUE(stage.gradients_ahead == 0 || stage.gradients_ahead == 1);
            }
        }
}

TEST(Pipeline, OfPipedreamComputesAllOfEveryMicroBatch) {
    for (const int stages : {2, 3, 5}) {
        const Program program = pipeline_program(
            find_model("gpt2").model,
            {.order = PipelineOrder::pipedream, .stages = stages, .micro_batches = 4}, 1'000'000,
            stages);
        std::int64_t all = 0;
        for (int rank = 0; rank < stages; ++rank) all += compute_ns_of_step(program, Rank{rank}, 0);
        EXPECT_NEAR(static_cast<double>(all), 1e6 * stages, 100);
    }
}

TEST(Pipeline, KeepsActivationsAndVersionsAsItsOrderNeeds) {
    EXPECT_EQ(most_in_flight(PipelineOrder::gpipe, 0, 4, 16), 16);
    for (int stage = 0; stage < 4; ++stage) {
        EXPECT_EQ(most_in_flight(PipelineOrder::one_forward_one, stage, 4, 16), 4 - stage);
        EXPECT_EQ(weight_versions(PipelineOrder::one_forward_one, stage, 4), 1);
        EXPECT_EQ(weight_versions(PipelineOrder::pipedream, stage, 4), 4 - stage);
    }
}

TEST(Pipeline, AddsUpTheEmbeddingOnlyWhereTheHeadIsTied) {
    for (const double scale : {1.0, 0.1, 1e-3}) {
        EXPECT_TRUE(has_tied_head(scaled(find_model("gpt2").model, scale))) << scale;
        EXPECT_TRUE(has_tied_head(scaled(find_model("gpt2-xl").model, scale))) << scale;
        for (const char* name : {"bert-base", "llama3-8b", "mixtral-8x7b"})
            EXPECT_FALSE(has_tied_head(scaled(find_model(name).model, scale))) << name << scale;
    }
}

TEST(Pipeline, RunsWithRightResults) {
    for (const char* schedule : {"gpipe", "1f1b", "pipedream"})
        for (const char* stages : {"0", "2"})
            for (const int ranks : {2, 4})
                expect_right_results("pipeline", ranks,
                                     {{"scale", "1e-4"},
                                      {"schedule", schedule},
                                      {"stages", stages},
                                      {"micro-batches", "3"},
                                      {"tokens", "4"},
                                      {"step-time", "100us"}});
}

TEST(Pipeline, RefusesWhatItCannotDoInOneLine) {
    const auto expect = [](int ranks, const char* setting, const char* value, const char* words) {
        expect_refusal("pipeline", ranks, {{"scale", "1e-4"}, {setting, value}}, words);
    };
    expect(0, "stages", "13", "--stages 12");
    expect(4, "stages", "3", "1, 2, 4");
    expect(0, "micro-batches", "0", "--micro-batches 0");
    expect(0, "schedule", "zigzag", "gpipe");
    expect(0, "model", "resnet50", "transformer");
}

}  // namespace tutti
