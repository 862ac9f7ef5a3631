// SPDX-License-Identifier: Apache-2.0
// What a program must be, what it hands over, and that it runs so in several groups at once.
#include "workloads/program/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/index.hpp"
#include "tests/base/messages.hpp"
#include "workloads/models/model_list.hpp"
#include "workloads/scenarios/patterns.hpp"
#include "workloads/scenarios/program_scenario.hpp"

namespace tutti {
namespace {

using Phase = Task::Phase;

GroupCall call_of(const char* label, int group, std::int64_t count) {
    return {.label = label, .group = group, .call = {.count = count}};
}

// Two ranks sum a vector while they compute.
Program sound() {
    Program program{.name = "sum", .groups = {every_rank_of(2)}, .calls = {}, .tasks = {{}, {}}};
    const int call = program.add_call(call_of("sum", 0, 10));
    for (const Rank rank : every_rank_of(2)) {
        program.start(rank, call, Phase::backward);
        program.compute(rank, 1000, Phase::backward);
        program.wait(rank, call, Phase::backward);
    }
    return program;
}

std::string refusal_of(const std::function<void(Program&)>& damage) {
    Program program = sound();
    damage(program);
    return thrown_by([&] { check(program); }).text;
}

}  // namespace

TEST(Program, IsRefusedWithTheReason) {
    EXPECT_EQ(refusal_of([](Program&) {}), "");
    const auto expect = [](const std::string& words, const std::function<void(Program&)>& damage) {
        const std::string reason = refusal_of(damage);
        EXPECT_TRUE(holds(reason, words));
    };
    expect("rank 1 never waits", [](Program& p) { p.tasks[1].pop_back(); });
    expect("rank 0 waits", [](Program& p) { p.wait(Rank{0}, 0, Phase::backward); });
    expect("'sum' twice", [](Program& p) { p.start(Rank{1}, 0, Phase::backward); });
    expect("group 0 as rank 0", [](Program& p) { p.tasks[1].clear(); });
    expect("group 0 is", [](Program& p) { p.add_call(call_of("more", 0, 1)); });
    expect("role 2;", [](Program& p) { p.role_of = {0, 2}; });
    expect("rank 2;", [](Program& p) { p.groups[0].push_back(Rank{2}); });
    expect("names group 1;", [](Program& p) { p.calls[0].group = 1; });
    expect("root 2", [](Program& p) { p.calls[0].call.root = Rank{2}; });
    expect("computing time", [](Program& p) { p.tasks[0][1].compute_ns = {-1}; });
    expect("its group", [](Program& p) {
        p.groups.push_back({Rank{0}});
        p.calls[0].group = 1;
    });
    expect("longest", [](Program& p) {
        p.calls[0].of_steps = {p.calls[0].call};
        ++p.calls[0].of_steps[0].count;
    });
    expect("longest", [](Program& p) {
        p.calls[0].of_steps = {p.calls[0].call};
        p.calls[0].of_steps[0].op = Op::max;
    });
    expect("same memory", [](Program& p) {
        p.calls[0].memory = 3;
        const int other = p.add_call(p.calls[0]);
        for (const Rank rank : every_rank_of(2)) {
            auto& tasks = at(p.tasks, rank);
            tasks.insert(tasks.begin(), {.kind = Task::Kind::start, .call = other});
            p.wait(rank, other, Phase::backward);
        }
    });
}

TEST(Program, OfDdpHandsOverEveryGradientOnceAndTheBuffers) {
    for (const ModelEntry& entry : model_list()) {
        const Model model = entry.model;
        const auto buckets = buckets_of(model, Bytes{4});
        const ComputeTimes times = step_times_by_formula(model, 1'000'000);
        const Program program = ddp_program(model, DataType::float32, buckets, {&times, 1}, 3);
        check(program);
        std::int64_t bytes = 4 * entry.total;
        for (const Buffer& buffer : model.buffers) bytes += buffer.element.count * buffer.count;
        for (const Rank rank : every_rank_of(3))
            EXPECT_EQ(bytes_of_step(program, rank), bytes) << entry.name;
        for (const GroupCall& one : program.calls)
            EXPECT_EQ(one.call.op,
                      one.call.collective == Collective::all_reduce ? Op::avg : Op::sum);
        EXPECT_EQ(compute_ns_of_step(program, Rank{1}, 7), 1'000'000) << entry.name;
    }
}

// The embedding of GPT-2 is also its head, whose gradient is complete only when all is computed; of
// ResNet-50 what fills the last bucket, and its buffers before the forward.
TEST(Program, OfDdpCanHideAllButWhatIsReadyLast) {
    const auto hideable_of = [](const Model& model) {
        const ComputeTimes times = step_times_by_formula(model, 1'000'000);
        return hideable_bytes_of_step(
            ddp_program(model, DataType::float32, buckets_of(model, Bytes{4}), {&times, 1}, 2),
            Rank{1});
    };
    EXPECT_EQ(hideable_of(find_model("gpt2").model), 497'759'232 - 176'446'464);
    EXPECT_EQ(hideable_of(find_model("resnet50").model), 4 * 25'557'032 - 9'724'160);
}

TEST(Program, KeepsOneListForRanksThatDoTheSame) {
    const Model model = find_model("resnet18").model;
    const auto buckets = buckets_of(model, Bytes{4});
    const ComputeTimes times = step_times_by_formula(model, 1'000'000);
    const Program ddp = ddp_program(model, DataType::float32, buckets, {&times, 1}, 500);
    const Program zero = zero_program(find_model("gpt2").model, {.stage = 3}, 1'000'000, 500);
    for (const Program& program : {ddp, zero}) {
        EXPECT_EQ(program.tasks.size(), 1U);
        EXPECT_EQ(program.ranks(), 500);
        EXPECT_EQ(&program.tasks_of(Rank{499}), &program.tasks_of(Rank{0}));
        check(program);
    }
}

// Others wait for a rank that computes for longer than the deadline of those that hang, and a
// watchdog sees all the while that it is alive.
TEST(Program, ComputesForLongerThanTheDeadline) {
    constexpr double deadline = 2;
    Program program = sound();
    program.tasks[1][1].compute_ns = {3'000'000'000};
    std::swap(program.tasks[1][0], program.tasks[1][1]);  // computes, then starts
    run_as_threads(2, 30, [&](World& world) {
        world.hang_timeout = deadline;
        Planner planner(world);
        const auto scenario = scenario_of(program, {}, {}, {.planner = planner});
        const auto [steps, refusal] = scenario->steps(methods_named(
            {.algorithms = {"ring"}, .transports = {"shm"}, .baselines = {"none"}})[0]);
        ASSERT_NE(steps, nullptr) << refusal;
        world.barrier();
        const long before = world.heartbeats;
        EXPECT_NO_THROW(steps->run(StepPart::whole, 0));
        EXPECT_GE(world.heartbeats - before, 3);  // one a second
        EXPECT_GT(world.hang_timeout, 3);
    });
}

// Rank 0 of each row meets its row, then its column; no group waits for the other's turn.
TEST(Program, RunsGroupsAtTheSameTimeWithRightResults) {
    Program program{
        .name = "grid",
        .groups = {{Rank{0}, Rank{1}}, {Rank{2}, Rank{3}}, {Rank{0}, Rank{2}}, {Rank{1}, Rank{3}}},
        .calls = {},
        .tasks = std::vector<std::vector<Task>>(4)};
    for (int group = 0; group < 4; ++group) {
        const int call = program.add_call(call_of("sum", group, 1000));
        for (const Rank rank : at(program.groups, group))
            program.start(rank, call, Phase::backward);
    }
    // Waited for in opposite orders, so that only who moves all along gets to the end.
    for (const Rank rank : every_rank_of(4)) {
        std::vector<int> mine;
        for (int group = 0; group < 4; ++group)
            if (place_in(at(program.groups, group), rank) >= 0) mine.push_back(group);
        if (rank.index % 2 == 1) std::ranges::reverse(mine);
        for (const int call : mine) program.wait(rank, call, Phase::backward);
    }
    run_as_threads(4, 60, [&](World& world) {
        Planner planner(world);
        const auto scenario = scenario_of(program, {}, {}, {.planner = planner});
        const auto methods = methods_named({.algorithms = {"ring", "tree"},
                                            .transports = {"loopback", "shm"},
                                            .baselines = {"none"}});
        StepProtocol protocol{.min_rounds = 3, .max_rounds = 3};
        const auto steps = run_scenario(world, *scenario, methods, protocol);
        ASSERT_EQ(steps.size(), 4U);
        for (const TrainingStep& step : steps) {
            EXPECT_FALSE(step.skipped) << *step.skipped;
            EXPECT_EQ(step.check.state, CheckState::ok) << step.key.method;
            EXPECT_EQ(step.step.n, 3U);
            EXPECT_EQ(step.key.calls, 2);
            EXPECT_EQ(step.key.bytes, 2 * 4000);
        }
    });
}

TEST(StepTimes, PartsWaitingFromWork) {
    // Rank 1 comes 30 late to the first call; the second one is rank 0's alone.
    const std::vector<StepStamps> all{
        {.begin_ns = 100, .end_ns = 300, .compute_ns = 50, .calls = {{110, 170}, {180, 220}}},
        {.begin_ns = 104, .end_ns = 290, .compute_ns = 80, .calls = {{140, 175}, {0, 0}}}};
    const StepTimes times = times_of(all);
    EXPECT_EQ(times.step, 300 - 104);
    EXPECT_EQ(times.compute, 80);
    EXPECT_EQ(times.wait, (30 + 0) / 2);
    EXPECT_EQ(times.work, 30 + 40);
    EXPECT_EQ(times.last, Rank{0});
}

TEST(StepTimes, ARankThatLeftBeforeTheLastArrivedDidNotWaitForIt) {
    const std::vector<StepStamps> all{
        {.begin_ns = 0, .end_ns = 900, .compute_ns = 0, .calls = {{100, 120}}},
        {.begin_ns = 0, .end_ns = 900, .compute_ns = 0, .calls = {{500, 530}}}};
    EXPECT_EQ(times_of(all).wait, 20 / 2);
    EXPECT_EQ(times_of(all).work, 30);
}

}  // namespace tutti
