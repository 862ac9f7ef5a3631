// SPDX-License-Identifier: Apache-2.0
// How a rank runs its tasks: in what order, how soon, and what it counts, by a method that only
// notes.
#include "workloads/steps/step_runner.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace tutti {
namespace {

struct Notes {
    std::vector<std::string> what;
    std::vector<std::int64_t> started_ns;  // when the calls began, by the clock
    CompressionTally tally;
    bool compresses = false;
};

class NotingOperation final : public Operation {
public:
    NotingOperation(Notes& notes, std::int64_t count)
        : notes_(notes), name_(std::to_string(count)) {}
    void run() override { start(); }
    void start() override {
        notes_.started_ns.push_back(now_ns());
        notes_.what.push_back("start " + name_);
    }

private:
    Notes& notes_;
    std::string name_;
};

class NotingMethod final : public GroupMethod {
public:
    explicit NotingMethod(Notes& notes) : notes_(notes) {}
    bool is_exact(const Call&) const override { return !notes_.compresses; }
    CompressionTally* tally() override { return notes_.compresses ? &notes_.tally : nullptr; }
    std::optional<std::string> refuses(const Call&, const PooledBuffers&) override { return {}; }
    std::unique_ptr<Operation> operation(const Call& call, const PooledBuffers&) override {
        return std::make_unique<NotingOperation>(notes_, call.count);
    }

private:
    Notes& notes_;
};

class NotingComputer final : public Computer {
public:
    explicit NotingComputer(Notes& notes) : notes_(notes) {}
    std::int64_t compute(std::int64_t ns, const std::function<bool()>& meanwhile) override {
        notes_.what.push_back("compute " + std::to_string(ns));
        meanwhile();
        return ns;
    }

private:
    Notes& notes_;
};

// Two calls, of 1 and 2 elements, that are started before and amid computing and waited for at the
// end.
Program overlapping() {
    Program program{.name = "overlapping", .groups = {{Rank{0}}}, .calls = {}, .tasks = {{}}};
    const int first = program.add_call(all_reduce_call("first", DataType::float32, 1));
    const int second = program.add_call(all_reduce_call("second", DataType::float32, 2));
    program.start(Rank{0}, first, Phase::backward);
    program.compute(Rank{0}, 30, Phase::backward);
    program.start(Rank{0}, second, Phase::backward);
    program.compute(Rank{0}, 40, Phase::backward);
    program.wait(Rank{0}, first, Phase::optimizer);
    program.wait(Rank{0}, second, Phase::optimizer);
    return program;
}

class Running {
public:
    explicit Running(Notes& notes) : computer_(notes) {
        const Method method{.name = "noting", .of_group = [&notes](Planner&, const Environment&) {
                                return std::make_unique<NotingMethod>(notes);
                            }};
        runner_ = StepRunner::make(buffers_, method).made;
    }
    StepStamps step(StepPart part) { return runner_->run(part, 0, computer_); }
    StepRunner& runner() { return *runner_; }

private:
    std::unique_ptr<World> world_ = world_of_one();
    Planner planner_{*world_};
    Program program_ = overlapping();
    ProgramBuffers buffers_{planner_, program_, BufferKind::unregistered};
    NotingComputer computer_;
    std::unique_ptr<StepRunner> runner_;
};

TEST(StepRunner, StartsEachCallWhereTheProgramDoes) {
    Notes notes;
    Running running(notes);
    running.step(StepPart::whole);
    EXPECT_EQ(notes.what,
              (std::vector<std::string>{"start 1", "compute 30", "start 2", "compute 40"}));
    notes.what.clear();
    running.step(StepPart::communication);
    EXPECT_EQ(notes.what, (std::vector<std::string>{"start 1", "start 2"}));
    notes.what.clear();
    EXPECT_EQ(running.step(StepPart::compute).compute_ns, 30 + 40);
    EXPECT_EQ(notes.what, (std::vector<std::string>{"compute 30", "compute 40"}));
}

// A call that starts late has less computing to overlap with. Nothing computes here, so the second
// call starts some microseconds after the step begins; at least one of many steps is not
// interrupted.
TEST(StepRunner, LosesNoTimeBeforeACall) {
    std::int64_t least_to_start = INT64_MAX, least_to_tell = INT64_MAX, least_step = INT64_MAX;
    for (int step = 0; step < 50; ++step) {
        Notes notes;
        Running running(notes);
        const StepStamps stamps = running.step(StepPart::whole);
        ASSERT_EQ(notes.started_ns.size(), 2U);
        least_to_start = std::min(least_to_start, notes.started_ns[1] - stamps.begin_ns);
        // The recorded start of a call is its real start.
        least_to_tell =
            std::min(least_to_tell, std::abs(notes.started_ns[1] - stamps.calls[1].start_ns));
        least_step = std::min(least_step, stamps.end_ns - stamps.begin_ns);
    }
    EXPECT_LT(least_to_start, 500'000);
    EXPECT_LT(least_to_tell, 500'000);
    EXPECT_LT(least_step, 1'000'000);
}

// 12 ms of compression in three steps that communicate; what only computes is none of them.
TEST(StepRunner, SharesTheTimeOfCompressionAmongTheStepsThatCommunicate) {
    Notes notes;
    notes.compresses = true;
    Running running(notes);
    running.step(StepPart::whole);
    running.step(StepPart::compute);
    running.step(StepPart::communication);
    running.step(StepPart::whole);
    notes.tally.ns = 12'000'000;
    const auto metrics = running.runner().metrics();
    const auto compress_ms = std::ranges::find(metrics, std::string("compress_ms"), &Metric::name);
    ASSERT_NE(compress_ms, metrics.end());
    EXPECT_DOUBLE_EQ(compress_ms->value, 4);
}

// The longest block is in the first step, but the second has more in all.
TEST(ProgramBuffers, HaveRoomForEveryStep) {
    Program program{
        .name = "two steps", .groups = {{Rank{0}, Rank{1}}}, .calls = {}, .tasks = {{}, {}}};
    const Call gather{.collective = Collective::all_gather, .type = DataType::float32};
    using Counts = std::vector<std::int64_t>;
    std::vector<Call> steps;
    for (const Counts& counts : {Counts{3000, 0}, Counts{2000, 1500}})
        steps.push_back(program.with_lengths(gather, counts, Blocks::exact));
    GroupCall one{.label = "gather", .call = {}, .in_place = true};
    one.set_steps(steps);
    program.add_call(one);
    run_as_threads(2, 20, [&](World& world) {
        Planner planner(world);
        const ProgramBuffers buffers(planner, program, BufferKind::registered);
        for (int step = 0; step < 2; ++step) {
            const PooledBuffers of_step = buffers.buffers_of(0, steps[as_size(step)]);
            EXPECT_TRUE(of_step.registered->offset_of(of_step.call.output)) << step;
        }
    });
}

}  // namespace
}  // namespace tutti
