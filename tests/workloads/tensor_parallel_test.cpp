// SPDX-License-Identifier: Apache-2.0
// Messages of Megatron's ranks: equal to the formula and to AICB's lists.
#include "tests/workloads/patterns.hpp"
#include "workloads/models/model_list.hpp"
#include "workloads/scenarios/patterns.hpp"

namespace tutti {
namespace {

using Phase = Task::Phase;

// Returns the bytes of the ranks that share layers, without their replicas.
std::int64_t shared_bytes(const Program& program, Phase phase, Collective collective) {
    return message_bytes(program, Rank{1}, [=](const GroupCall& one, Phase in) {
        return one.call.collective == collective && in == phase && one.call.op != Op::avg;
    });
}

}  // namespace

TEST(TensorParallel, HandsOverWhatItsFormulaSays) {
    const Model model = find_model("gpt2").model;
    const std::int64_t layers = 12, tokens = 120, sums = tokens * 768 * 4;
    for (int ranks = 2; ranks <= 8; ++ranks)
        for (int t = 1; t <= ranks; ++t) {
            if (ranks % t != 0) continue;
            for (const bool sequence : {false, true}) {
                const Program program = tensor_parallel_program(
                    model, {.tensor_ranks = t, .tokens = tokens, .sequence_parallel = sequence},
                    1'000'000, ranks);
                expect_sound(program);
                EXPECT_NO_THROW(ideal_run(program, SendMode::blocking));
                EXPECT_EQ(compute_ns_of_step(program, Rank{0}, 0), 1'000'000);
                std::int64_t bytes = 2 * sums + 12 * tokens;
                // A reduce-scatter takes whole sums, an all-gather a rank's share.
                const std::int64_t share = (sums / 4 + t - 1) / t * 4;
                bytes += layers * (sequence ? 4 * share * t + 6 * share : 4 * sums);
                std::int64_t gradients = 0;
                for (const std::int64_t count : model.unit_counts())
                    gradients += 4 * ((count + t - 1) / t);
                if (t < ranks) bytes += gradients;
                for (const Rank rank : every_rank_of(ranks))
                    EXPECT_EQ(bytes_of_step(program, rank), bytes) << ranks << " " << t;
            }
        }
}

TEST(TensorParallel, SumsActivationsAndAveragesGradients) {
    for (const bool sequence : {false, true}) {
        const Program program = tensor_parallel_program(
            find_model("gpt2").model,
            {.tensor_ranks = 2, .tokens = 8, .sequence_parallel = sequence}, 1'000'000, 4);
        for (const char* sums : {"attention", "feed-forward", "embedding"})
            expect_op(program, sums, Op::sum);
        expect_op(program, "gradients", Op::avg);
        // For each of two blocks: the greatest logit, the sum of all, and the one of the right
        // word.
        EXPECT_EQ(ops_of(program, "loss"),
                  (std::multiset{Op::max, Op::max, Op::sum, Op::sum, Op::sum, Op::sum}));
    }
}

// Sums wait for what they add up. Gathers for the gradients of weights do not, nor do replicas'
// averages except those of the first layer and the embedding, which overlap with no computing.
TEST(TensorParallel, HidesWhatNothingWaitsFor) {
    const Model model = find_model("gpt2").model;
    const std::int64_t layers = 12, tokens = 120, share = tokens * 768 * 4 / 2;
    std::int64_t averages = 0;
    const auto counts = model.unit_counts();
    for (std::size_t unit = 2; unit < counts.size(); ++unit) averages += (counts[unit] + 1) / 2 * 4;
    for (const bool sequence : {false, true}) {
        const Program program = tensor_parallel_program(
            model, {.tensor_ranks = 2, .tokens = tokens, .sequence_parallel = sequence}, 1'000'000,
            4);
        EXPECT_EQ(hideable_bytes_of_step(program, Rank{3}),
                  averages + (sequence ? 2 * layers * share : 0));
    }
}

TEST(TensorParallel, SendsWhatAicbListsForLlama7B) {
    AICB_OR_SKIP(listed, "L7B-M1-C04_Llama7B_megatron_tp2_pp1_mbs1.csv");
    const Program program = tensor_parallel_program(
        find_model("llama2-7b").model,
        {.tensor_ranks = 2, .tokens = 2048, .type = DataType::bfloat16}, 0, 4);
    EXPECT_EQ(shared_bytes(program, Phase::forward, Collective::all_reduce),
              (listed[{"all_reduce", "tp_group", "forward"}].bytes +
               listed[{"all_reduce", "tp_group", "forward_step"}].bytes));
    EXPECT_EQ(shared_bytes(program, Phase::backward, Collective::all_reduce),
              (listed[{"all_reduce", "tp_group", "backward"}].bytes));
}

TEST(TensorParallel, WithSequenceParallelismSendsWhatAicbListsForGpt13B) {
    AICB_OR_SKIP(listed, "G13B-M1-C02_GPT13B_megatron_tp8_pp1_mbs1_sp.csv");
    Model model{.name = "gpt-13b"};
    for (int unit = 0; unit < 42; ++unit)
        model.parameters.push_back({.name = "w", .shape = {8}, .unit = unit});
    model.transformer = Transformer{
        .layers = 40, .hidden = 5120, .heads = 40, .vocabulary = 50257, .sequence = 2048};
    const Program program = tensor_parallel_program(
        model,
        {.tensor_ranks = 8, .tokens = 2048, .sequence_parallel = true, .type = DataType::bfloat16},
        0, 16);
    const std::pair<Phase, const char*> phases[] = {{Phase::forward, "forward"},
                                                    {Phase::backward, "backward"}};
    for (const auto& [phase, name] : phases) {
        for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter})
            EXPECT_EQ(shared_bytes(program, phase, collective),
                      (listed[{std::string(name_of(collective)), "tp_group", name}].bytes))
                << name;
    }
    EXPECT_EQ(shared_bytes(program, Phase::forward, Collective::all_reduce),
              (listed[{"all_reduce", "tp_group", "forward"}].bytes +
               listed[{"all_reduce", "tp_group", "forward_step"}].bytes));
}

TEST(TensorParallel, RunsWithRightResults) {
    for (const char* sequence : {"no", "yes"})
        for (const char* tensor_ranks : {"0", "2"})
            for (const int ranks : {2, 4})
                expect_right_results("tensor-parallel", ranks,
                                     {{"scale", "1e-4"},
                                      {"sequence-parallel", sequence},
                                      {"tensor-ranks", tensor_ranks},
                                      {"tokens", "3"},
                                      {"step-time", "100us"}});
}

TEST(TensorParallel, RefusesWhatItCannotDoInOneLine) {
    const auto expect = [](int ranks, const char* setting, const char* value, const char* words) {
        expect_refusal("tensor-parallel", ranks, {{"scale", "1e-4"}, {setting, value}}, words);
    };
    expect(0, "tensor-ranks", "13", "12 attention heads");
    expect(4, "tensor-ranks", "3", "1, 2, 4");
    expect(0, "sequence-parallel", "maybe", "--sequence-parallel maybe");
    expect(0, "model", "vgg16", "transformer");
}

}  // namespace tutti
