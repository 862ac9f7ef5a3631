// SPDX-License-Identifier: Apache-2.0
// "auto" in steps of training.
#include <gtest/gtest.h>

#include "cli/auto/chooser.hpp"
#include "tests/collectives/allocations.hpp"
#include "workloads/scenarios/program_scenario.hpp"

namespace tutti {
namespace {

// More calls than a communicator keeps plans for, each with its own memory.
constexpr int many = 600;

Program with_many_calls(int ranks) {
    Program program{.name = "many",
                    .groups = {every_rank_of(ranks)},
                    .calls = {},
                    .tasks = {{}},
                    .role_of = std::vector<int>(static_cast<std::size_t>(ranks))};
    for (int i = 0; i < many; ++i)
        program.start(Rank{0}, program.add_call({.label = "sum", .call = {.count = 4}}),
                      Task::Phase::backward);
    for (int i = 0; i < many; ++i) program.wait(Rank{0}, i, Task::Phase::backward);
    return program;
}

TEST(MethodByTable, KeepsThePlansOfAllCallsOfAStep) {
    run_as_threads(2, 60, [&](World& world) {
        Planner planner(world);
        const auto scenario = scenario_of(with_many_calls(2), {}, {}, {.planner = planner});
        const auto [steps, refusal] = scenario->steps(method_by_table("no such file", false));
        ASSERT_NE(steps, nullptr) << refusal;
        EXPECT_EQ(steps->count_wrong(), 0);
        const auto communicate = [&] {
            world.barrier();
            steps->run(StepPart::communication, 0);
        };
        // Makes all plans; in the first starts the ranks also agree on how many of each.
        for (int i = 0; i < 10; ++i) communicate();
        // A plan that is made again allocates; only the step's own stamps are copied.
        const test::AllocationCount allocations;
        communicate();
        EXPECT_LT(allocations.so_far(), 20);
    });
}

}  // namespace
}  // namespace tutti
