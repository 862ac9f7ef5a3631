// SPDX-License-Identifier: Apache-2.0
// The cost of plans in addition to their messages: no allocation while they run, and little time to
// build even for thousands of ranks.
#include <gtest/gtest.h>

#include <iomanip>

#include "allocations.hpp"
#include "base/clock.hpp"
#include "checked_plan.hpp"
#include "collectives/execute/plans.hpp"
#include "collectives/execute/program/program.hpp"
#include "threads.hpp"

namespace tutti {
namespace {

TEST(AllocationCount, SeesWhatThisThreadAllocates) {
    const test::AllocationCount count;
    EXPECT_EQ(count.so_far(), 0);
    struct alignas(64) Line {
        char bytes[64];
    };
    auto one = std::make_unique<Line>();
    std::vector<int> other(100);
    EXPECT_EQ(count.so_far(), 2);
}

class RunningAPlan : public testing::TestWithParam<std::string_view> {
    void SetUp() override {
        if (const auto missing = find_transport(GetParam()).missing()) GTEST_SKIP() << *missing;
    }
};

TEST_P(RunningAPlan, AllocatesNothing) {
    constexpr int ranks = 4;
    test::run_over(GetParam(), ranks, 20, [](World& world) {
        Planner planner(world);
        for (const Algorithm& algorithm : catalog()) {
            if (algorithm.refuses({.collective = algorithm.collective, .ranks = ranks})) continue;
            test::CheckedPlan checked(planner, GetParam(), algorithm, 1000);
            checked.start();
            checked.wait();
            const test::AllocationCount count;
            checked.plan().run();
            EXPECT_EQ(count.so_far(), 0)
                << checked.plan().what() << " on rank " << world.rank().index;
        }
        world.barrier();
    });
}

INSTANTIATE_TEST_SUITE_P(Threads, RunningAPlan,
                         testing::ValuesIn(test::transports_of_threads(test::Rows::without_parts)),
                         test::name_of_transport);
INSTANTIATE_TEST_SUITE_P(Mapped, RunningAPlan, testing::Values("shm-mapped"),
                         test::name_of_transport);

// A rank without peers: sufficient to compile plans.
class LoneRank final : public World {
public:
    LoneRank(Rank rank, int size) : rank_(rank), size_(size), hosts_(Placement::one_node(size)) {}

    Rank rank() const override { return rank_; }
    int size() const override { return size_; }
    std::string_view kind() const override { return "lone"; }
    bool one_process() const override { return true; }
    void barrier() override {}
    void all_gather(std::span<const std::byte>, std::span<std::byte>) override {}
    void broadcast(std::span<std::byte>) override {}
    const Placement& hosts() const override { return hosts_; }

private:
    Rank rank_;
    int size_;
    Placement hosts_;
};

// Messages go nowhere.
class NullTransport final : public MessageTransport {
public:
    std::string_view name() const override { return "null"; }
    std::unique_ptr<Endpoint> connect(const EndpointNeeds&) override { return nullptr; }
    std::size_t most_bytes() const override { return 300; }
};

// Calls of any length, also the first one.
TEST(BindingMessages, AllocatesNothing) {
    constexpr int ranks = 4;
    LoneRank world(Rank{1}, ranks);
    Progress progress(world);
    NullTransport transport;
    std::vector<std::byte> memory(2 * ranks * 1000);
    for (const Algorithm& algorithm : catalog()) {
        const Job job{.collective = algorithm.collective, .ranks = ranks, .segments = 5};
        if (algorithm.refuses(job)) continue;
        Call call{.collective = algorithm.collective, .type = DataType::int8, .count = 1000};
        const auto plan = host_plan(
            progress, &transport,
            {.schedule = algorithm.build(job), .call = call, .method = TransferMethod::messages});
        const test::AllocationCount count;
        for (const std::int64_t length : {3, 0, 1000, 999}) {
            call.count = length;
            const std::size_t input = input_bytes(call, ranks, world.rank());
            plan->bind(call, {.input = std::span(memory).first(input),
                              .output = std::span(memory).subspan(
                                  input, output_bytes(call, ranks, world.rank()))});
        }
        EXPECT_EQ(count.so_far(), 0) << name_of(algorithm.collective) << " " << algorithm.name;
    }
}

double seconds_of(const std::function<void()>& work) {
    const std::int64_t begin = now_ns();
    work();
    return static_cast<double>(now_ns() - begin) * 1e-9;
}

struct BuildingTime {
    double messages = 0;
    double hybrid = 0;  // by memory among eight ranks of a host
};

BuildingTime time_to_build(const Algorithm& algorithm, int ranks, Rank rank) {
    const Schedule schedule = algorithm.build({.collective = algorithm.collective,
                                               .ranks = ranks,
                                               .segments = 32,
                                               .placement = Placement::in_nodes_of(ranks, 8)});
    // Large enough that no chunk is empty.
    const bool is_one_vector = CollectiveSpec{algorithm.collective, ranks}.blocks() == 1;
    const Call call{.collective = algorithm.collective, .count = is_one_vector ? 4 * ranks : 4};
    PlanRequest request{.schedule = schedule, .call = call, .method = TransferMethod::messages};
    BuildingTime time{.messages = seconds_of([&] { compile(request, rank); })};
    request.method = TransferMethod::registered;
    for (int one = 0; one < ranks; ++one) request.hosts.push_back(one / 8);
    time.hybrid = seconds_of([&] { compile(request, rank); });
    return time;
}

// At least ranks * ranks / 2 blocks pass through one rank, each with its own place in the plan:
// this takes seconds and much memory for thousands of ranks, where such plans would not be used.
bool carries_the_blocks_of_all_pairs(const Algorithm& algorithm) {
    using enum Collective;
    return (algorithm.collective == all_to_all && algorithm.name == "ring") ||
           (algorithm.collective == all_gather && algorithm.name == "linear") ||
           (algorithm.collective == reduce_scatter && algorithm.name == "linear");
}

// The bound only catches a plan whose time explodes; the goal is one second.
TEST(BuildingAPlan, TakesLittleTimeAmongThousandsOfRanks) {
    std::cout << "seconds to build one rank's plan\n  messages    hybrid\n";
    for (const Algorithm& algorithm : catalog()) {
        const int ranks = carries_the_blocks_of_all_pairs(algorithm) ? 512 : 4096;
        if (algorithm.refuses({.collective = algorithm.collective, .ranks = ranks})) continue;
        for (Rank rank : {Rank{0}, Rank{ranks - 2}}) {
            const auto [messages, hybrid] = time_to_build(algorithm, ranks, rank);
            std::cout << std::fixed << std::setprecision(3) << std::setw(10) << messages
                      << std::setw(10) << hybrid << "  " << name_of(algorithm.collective) << " "
                      << algorithm.name << ", rank " << rank.index << " of " << ranks
                      << (std::max(messages, hybrid) > 1 ? "  <- over 1 s\n" : "\n");
            EXPECT_LT(messages + hybrid, 10)
                << name_of(algorithm.collective) << " " << algorithm.name;
        }
    }
}

}  // namespace
}  // namespace tutti
