// SPDX-License-Identifier: Apache-2.0
// Ranks that begin runs while peers still read their data of earlier ones.
#include "collectives/execute/plans.hpp"
#include "tests/collectives/threads.hpp"

namespace tutti {
namespace {

constexpr int ranks_of_run = 3, runs_ahead = 2, count = 100;

std::unique_ptr<Plan> plan_of(Progress& progress, Collective collective, const char* algorithm) {
    const Job job{.collective = collective, .ranks = ranks_of_run, .root = {0}};
    return host_plan(progress, nullptr,
                     {.schedule = find_algorithm(collective, algorithm).build(job),
                      .call = {.collective = collective, .type = DataType::int32, .count = count},
                      .what = "trial",
                      .method = TransferMethod::copy_in_copy_out,
                      .runs_ahead = runs_ahead});
}

// The root writes over its input between the runs.
TEST(RunsAhead, LetTheRootGoOnUntilThePlansMemoryIsFull) {
    run_as_threads(ranks_of_run, 20, [](World& world) {
        Progress progress(world);
        const auto plan = plan_of(progress, Collective::broadcast, "tree");
        const bool is_root = world.rank().index == 0;
        std::vector<std::int32_t> input(is_root ? count : 0), output(count);
        const auto begin = [&](int run) {
            std::ranges::fill(input, run);
            plan->bind(
                {.collective = Collective::broadcast,
                 .type = DataType::int32,
                 .count = count - run},
                {std::as_bytes(std::span(input)).first(is_root ? 4 * as_size(count - run) : 0),
                 std::as_writable_bytes(std::span(output)).first(4 * as_size(count - run))});
            plan->start();
        };
        constexpr int runs = 10;
        int run = 0;
        if (is_root) {
            for (; run <= runs_ahead; ++run) {
                begin(run);
                EXPECT_TRUE(plan->test()) << run;
            }
            begin(run++);
            for (int i = 0; i < 100; ++i) EXPECT_FALSE(plan->test());
        }
        world.barrier();
        if (is_root) plan->wait();
        for (; run < runs; ++run) {
            begin(run);
            plan->wait();
            EXPECT_EQ(std::ranges::count(output, run), count - run) << run;
        }
        world.barrier();
    });
}

TEST(RunsAhead, LetALeafGoOnBeforeTheRootBegins) {
    run_as_threads(ranks_of_run, 20, [](World& world) {
        Progress progress(world);
        const auto plan = plan_of(progress, Collective::gather, "linear");
        const bool is_root = world.rank().index == 0;
        std::vector<std::int32_t> input(count), output(is_root ? count * ranks_of_run : 0);
        for (int run = 0; run < 10; ++run) {
            if (run == (is_root ? 0 : runs_ahead + 1)) world.barrier();
            std::ranges::fill(input, 10 * run + world.rank().index);
            plan->bind(
                {.collective = Collective::gather, .type = DataType::int32, .count = count},
                {std::as_bytes(std::span(input)), std::as_writable_bytes(std::span(output))});
            plan->run();
            for (int rank = 0; is_root && rank < ranks_of_run; ++rank)
                EXPECT_EQ(std::ranges::count(output, 10 * run + rank), count) << run;
        }
        world.barrier();
    });
}

}  // namespace
}  // namespace tutti
