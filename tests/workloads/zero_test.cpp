// SPDX-License-Identifier: Apache-2.0
// Bytes that ZeRO's stages send: equal to their formula and to AICB's lists.
#include "base/index.hpp"
#include "tests/workloads/patterns.hpp"
#include "workloads/models/model.hpp"
#include "workloads/models/model_list.hpp"
#include "workloads/scenarios/patterns.hpp"

namespace tutti {
namespace {

// At most one rank's worth of padding for each message.
void expect_about(std::int64_t bytes, std::int64_t formula, std::size_t messages, int ranks) {
    EXPECT_GE(bytes, formula);
    EXPECT_LT(bytes, formula + static_cast<std::int64_t>(messages) * 4 * ranks);
}

}  // namespace

TEST(Zero, HandsOverGradientsOnceAndItsShareOfWeightsOnceOrTwice) {
    for (const char* name : {"resnet50", "gpt2", "llama3-8b"}) {
        const Model model = find_model(name).model;
        for (int ranks = 2; ranks <= 8; ++ranks)
            for (const int stage : {1, 2, 3})
                for (const int prefetch : {0, 1, 2}) {
                    const Program program = zero_program(
                        model, {.stage = stage, .prefetch = prefetch}, 1'000'000, ranks);
                    expect_sound(program);
                    const std::int64_t bytes = 4 * model.count();
                    const std::int64_t shares = stage == 3 ? 2 : 1;
                    expect_about(bytes_of_step(program, Rank{ranks - 1}),
                                 bytes + shares * bytes / ranks, program.calls.size(), ranks);
                    EXPECT_EQ(compute_ns_of_step(program, Rank{0}, 0), 1'000'000);
                }
    }
}

TEST(Zero, HasAtMostOneGatherUnderWayForEachBuffer) {
    for (const int prefetch : {0, 1, 2}) {
        const Program program =
            zero_program(find_model("gpt2").model, {.stage = 3, .prefetch = prefetch}, 1000, 4);
        int gathers = 0, most = 0;
        std::map<std::int64_t, std::map<int, int>> memories;  // by size
        for (const Task& task : program.tasks[0]) {
            if (task.call < 0) continue;
            const GroupCall& one = at(program.calls, task.call);
            if (one.call.collective != Collective::all_gather) continue;
            gathers += task.kind == Task::Kind::start ? 1 : -1;
            most = std::max(most, gathers);
            memories[one.call.count][one.memory]++;
        }
        EXPECT_EQ(most, prefetch + 1);
        for (const auto& [count, of_count] : memories)
            EXPECT_LE(static_cast<int>(of_count.size()), prefetch + 1) << count;
    }
}

TEST(Zero, AveragesGradients) {
    for (const int stage : {1, 2, 3})
        expect_op(zero_program(find_model("gpt2").model, {.stage = stage}, 1000, 4), "gradients",
                  Op::avg);
}

// All but what is waited for before anything can be computed, and what is ready when all is; the
// embedding (unit 0) is looked up, which is no computing.
TEST(Zero, HidesAllButTheFirstGathersAndTheLastScatter) {
    const Model model = find_model("gpt2").model;
    constexpr int ranks = 4;
    std::vector<std::int64_t> shares;  // bytes
    for (const std::int64_t count : model.unit_counts())
        shares.push_back((count + ranks - 1) / ranks * 4);
    std::int64_t scatters = 0, gathers = 0;
    for (const std::int64_t share : shares) {
        scatters += share * ranks;
        gathers += 2 * share;
    }
    scatters -= (shares[0] + shares[1]) * ranks;
    for (const int prefetch : {0, 1, 2}) {
        const Program program =
            zero_program(model, {.stage = 3, .prefetch = prefetch}, 1'000'000, ranks);
        const std::int64_t ahead =
            prefetch == 0 ? 0 : gathers - shares[0] - shares[1] - shares.back();
        EXPECT_EQ(hideable_bytes_of_step(program, Rank{1}), scatters + ahead) << prefetch;
    }
}

TEST(Zero, HidesMoreUnderComputingWithEachStage) {
    // When the first collective of gradients leaves, counted in tasks that compute before it.
    const auto computed_before = [](int stage) {
        const Program program =
            zero_program(find_model("gpt2").model, {.stage = stage}, 1'000'000, 2);
        std::int64_t computed = 0;
        for (const Task& task : program.tasks[0]) {
            if (task.kind == Task::Kind::compute) computed += task.compute_ns[0];
            if (task.kind == Task::Kind::start &&
                at(program.calls, task.call).call.collective == Collective::reduce_scatter)
                break;
        }
        return computed;
    };
    EXPECT_EQ(computed_before(1), 1'000'000);
    EXPECT_LT(computed_before(2), 900'000);
    EXPECT_LT(computed_before(3), 900'000);
}

TEST(Zero, SendsWhatAicbListsForLlama7B) {
    const Model model = find_model("llama2-7b").model;
    constexpr int ranks = 128;
    const auto program_of = [&](int stage) {
        return zero_program(model, {.stage = stage, .type = DataType::bfloat16}, 0, ranks);
    };
    {
        AICB_OR_SKIP(listed, "L7B-D1-C02_Llama7B_zero3_mbs1.csv");
        const Program program = program_of(3);
        const auto gathered_in = [&](Task::Phase phase) {
            return message_bytes(program, Rank{5}, [=](const GroupCall& one, Task::Phase in) {
                return one.call.collective == Collective::all_gather && in == phase;
            });
        };
        EXPECT_EQ(gathered_in(Task::Phase::forward),
                  (listed[{"all_gather", "dp_group", "forward"}].bytes));
        EXPECT_EQ(gathered_in(Task::Phase::backward),
                  (listed[{"all_gather", "dp_group", "backward"}].bytes));
        EXPECT_EQ(message_bytes(program, Rank{5}, Collective::reduce_scatter),
                  (listed[{"reduce_scatter", "dp_group", "backward"}].bytes +
                   listed[{"reduce_scatter", "dp_group", "step"}].bytes));
    }
    AICB_OR_SKIP(listed, "L7B-D1-C01_Llama7B_zero2_mbs1.csv");
    const Program program = program_of(2);
    // The list has a flag of one byte next to the last of the gradients.
    EXPECT_EQ(message_bytes(program, Rank{5}, Collective::reduce_scatter),
              (listed[{"all_reduce", "dp_group", "backward"}].bytes +
               listed[{"all_reduce", "dp_group", "step"}].bytes - 1));
    // Both pad what is gathered, to other multiples.
    EXPECT_NEAR(static_cast<double>(message_bytes(program, Rank{5}, Collective::all_gather)),
                static_cast<double>(listed[{"all_gather", "dp_group", "step"}].bytes), 512);
}

TEST(Zero, RunsWithRightResults) {
    for (const int ranks : {2, 4})
        for (const char* stage : {"1", "2", "3"})
            expect_right_results("zero", ranks,
                                 {{"scale", "1e-4"}, {"stage", stage}, {"step-time", "100us"}});
}

TEST(Zero, RefusesWhatItCannotDoInOneLine) {
    EXPECT_NE(refusal_of("zero", 0, {{"stage", "4"}}).find("--stage 4"), std::string::npos);
    EXPECT_NE(refusal_of("zero", 0, {{"prefetch", "3"}}).find("--prefetch 3"), std::string::npos);
    EXPECT_NE(refusal_of("zero", 0, {{"stage", "2"}, {"bucket", "0"}}), "");
    EXPECT_NE(refusal_of("zero", 0, {{"model", "gpt5"}}).find("gpt5"), std::string::npos);
    EXPECT_NE(refusal_of("zero", 0, {{"element", "int8"}}).find("bfloat16"), std::string::npos);
}

}  // namespace tutti
