// SPDX-License-Identifier: Apache-2.0
// Tests plans that try several plans of the same call.
#include "collectives/execute/plan/tried_plan.hpp"

#include <thread>

#include "collectives/algorithms/catalog.hpp"
#include "threads.hpp"

namespace tutti {
namespace {

const Call call{.collective = Collective::all_reduce, .count = 3000};

PlanRequest request_for(int ranks) {
    const Algorithm& ring = find_algorithm(call.collective, "ring");
    return {.schedule = ring.build({.collective = call.collective, .ranks = ranks}),
            .call = call,
            .what = "tried"};
}

// A plan that takes `ns` on this rank and counts its runs.
class Timed final : public Plan {
public:
    Timed(Progress& progress, const PlanRequest& request, std::int64_t ns, int& runs)
        : Plan(progress, request), ns_(ns), runs_(runs) {}

    void bind(const Call&, const CallBuffers&) override {}

private:
    void adapt() override {}
    void begin() override {
        ++runs_;
        end_ns_ = now_ns() + ns_;
    }
    bool advance() override { return now_ns() >= end_ns_; }
    ProgressState progress_state() const override { return {}; }

    std::int64_t ns_, end_ns_ = 0;
    int& runs_;
};

constexpr std::int64_t fast = 20'000, slow = 20'000'000;

// Tries two plans that take the given times on this rank.
struct Pair {
    Pair(World& world, std::array<std::int64_t, 2> ns) : progress(world) {
        std::vector<std::unique_ptr<Plan>> plans;
        for (std::size_t i = 0; i < ns.size(); ++i)
            plans.push_back(
                std::make_unique<Timed>(progress, request_for(world.size()), ns[i], runs[i]));
        SharedPlanMemory memory(world);
        plan = tried_plan(progress, request_for(world.size()), std::move(plans), memory);
        memory.provide("times");
    }

    Progress progress;
    std::array<int, 2> runs{};
    std::unique_ptr<Plan> plan;
};

TEST(TriedPlan, TakesThePlanWhoseSlowestRankIsMuchFaster) {
    run_as_threads(2, 20, [](World& world) {
        const bool is_first = world.is_first();
        Pair pair(world, {is_first ? slow : fast, 5 * fast});
        for (int run = 0; run < 200; ++run) pair.plan->run();
        EXPECT_GE(pair.runs[1], 190);
        EXPECT_EQ(pair.runs[0] + pair.runs[1], 200);
        world.barrier();
    });
}

TEST(TriedPlan, WaitsForTheTimesOfALateRankAndNamesIt) {
    run_as_threads(2, 20, [](World& world) {
        Pair pair(world, {slow, fast});
        for (int run = 0; run < 7; ++run) pair.plan->run();
        world.barrier();
        if (world.is_first()) {
            pair.plan->start();
            EXPECT_FALSE(pair.plan->test());
            EXPECT_NE(pair.plan->hang_report().find("for rank 1"), std::string::npos)
                << pair.plan->hang_report();
            EXPECT_EQ(pair.runs[0] + pair.runs[1], 7);
        }
        world.barrier();
        if (!world.is_first()) pair.plan->start();
        pair.plan->wait();
        EXPECT_EQ(pair.runs[1], 4);  // three of a trial, and this one
        world.barrier();
    });
}

TEST(TriedPlan, TriesNothingWhileStepsAreWatched) {
    run_as_threads(2, 20, [](World& world) {
        Pair pair(world, {fast, slow});
        std::vector<StepEnd> ends;
        pair.plan->note_step_ends(&ends);
        for (int run = 0; run < 30; ++run) pair.plan->run();
        EXPECT_EQ(pair.runs[1], 0);
        pair.plan->note_step_ends(nullptr);
        for (int run = 0; run < 7; ++run) pair.plan->run();
        EXPECT_EQ(pair.runs[1], 3);
        world.barrier();
    });
}

// The transport shm has several methods for unregistered memory. The first trial, and usually a
// second one, run each of them, in buffers that change.
TEST(TriedPlan, IsCorrectWithEachMethod) {
    for (const int ranks : {1, 2, 3})
        run_as_threads(ranks, 60, [&](World& world) {
            Planner planner(world);
            for (const Algorithm& algorithm : catalog()) {
                if (algorithm.refuses({.collective = algorithm.collective, .ranks = ranks}))
                    continue;
                const Call of_algorithm{algorithm.collective, DataType::int32, Op::sum,
                                        Rank{ranks - 1}, 3000};
                const std::size_t input = input_bytes(of_algorithm, ranks, world.rank()),
                                  output = output_bytes(of_algorithm, ranks, world.rank());
                std::vector<std::byte> memory(2 * (input + output));
                const auto buffers_of = [&](std::size_t run) {
                    const auto half = std::span(memory).subspan(run % 2 * (input + output));
                    return std::pair{half.first(input), half.subspan(input, output)};
                };
                const auto [first_in, first_out] = buffers_of(0);
                const auto plan = planner.plan({&algorithm, {.transport = "shm"}}, of_algorithm,
                                               {first_in, first_out, false});
                std::int64_t wrong = 0;
                for (std::size_t run = 0; run < 60; ++run) {
                    const auto [in, out] = buffers_of(run);
                    const CheckCase check = check_of(of_algorithm, ranks, run);
                    poison(out);
                    fill_input(check, world.rank(), in);
                    plan->bind(of_algorithm, {in, out, false});
                    plan->run();
                    wrong += count_wrong(check, world.rank(), out);
                }
                EXPECT_EQ(wrong, 0) << name_of(algorithm.collective) << " " << algorithm.name
                                    << ", " << ranks << " ranks";
                world.barrier();
            }
        });
}

}  // namespace
}  // namespace tutti
