// SPDX-License-Identifier: Apache-2.0
// The cost of plans in addition to their messages: no allocation while they run, and little time to
// build even for thousands of ranks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>

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

struct BuildingCost {
    double seconds = 0;
    long allocations = 0;
    std::size_t transfers = 0;  // all ranks whose programs are compiled have these
};

BuildingCost cost_of_building(const PlanRequest& request, Rank rank) {
    BuildingCost cost;
    for (const Rank one : all_ranks(request.schedule.ranks())) {
        if (one != rank && request.sends_messages(one, rank)) continue;
        for (const RankStep& step : rank_steps(request, one))
            cost.transfers += step.sends.size() + step.receives.size();
    }
    const std::int64_t begin = now_ns();
    const test::AllocationCount count;
    compile(request, rank);
    cost.allocations = count.so_far();
    cost.seconds = static_cast<double>(now_ns() - begin) * 1e-9;
    return cost;
}

// At least ranks * ranks / 2 blocks pass through one rank, each with its own place in the plan:
// this takes seconds and much memory for thousands of ranks, where such plans would not be used.
bool carries_the_blocks_of_all_pairs(const Algorithm& algorithm) {
    using enum Collective;
    return (algorithm.collective == all_to_all && algorithm.name == "ring") ||
           (algorithm.collective == all_gather && algorithm.name == "linear") ||
           (algorithm.collective == reduce_scatter && algorithm.name == "linear");
}

// Times are only printed, because the machine may be busy: the goal is one second. What is asserted
// is that the work grows with the transfers of the rank, and by memory with those of its host.
TEST(BuildingAPlan, AllocatesInProportionToItsTransfersAmongThousandsOfRanks) {
    std::cout << "seconds to build one rank's plan: messages; by memory among 8 ranks of a host\n";
    for (const Algorithm& algorithm : catalog()) {
        const int ranks = carries_the_blocks_of_all_pairs(algorithm) ? 512 : 4096;
        if (algorithm.refuses({.collective = algorithm.collective, .ranks = ranks})) continue;
        const Schedule schedule = algorithm.build({.collective = algorithm.collective,
                                                   .ranks = ranks,
                                                   .segments = 32,
                                                   .placement = Placement::in_nodes_of(ranks, 8)});
        // Large enough that no chunk is empty.
        const bool is_one_vector = CollectiveSpec{algorithm.collective, ranks}.blocks() == 1;
        PlanRequest messages{
            .schedule = schedule,
            .call = {.collective = algorithm.collective, .count = is_one_vector ? 4 * ranks : 4},
            .method = TransferMethod::messages};
        PlanRequest hybrid = messages;
        hybrid.method = TransferMethod::registered;
        for (int one = 0; one < ranks; ++one) hybrid.hosts.push_back(one / 8);
        for (const Rank rank : {Rank{0}, Rank{ranks - 2}}) {
            std::string line;
            for (const PlanRequest* request : {&messages, &hybrid}) {
                const BuildingCost cost = cost_of_building(*request, rank);
                line += fmt::format("{:8.3f}", cost.seconds);
                EXPECT_LE(cost.allocations, 25 * static_cast<long>(cost.transfers) + 30'000)
                    << name_of(algorithm.collective) << " " << algorithm.name << ", "
                    << cost.transfers << " transfers";
            }
            fmt::print("{}  {} {}, rank {} of {}\n", line, name_of(algorithm.collective),
                       algorithm.name, rank.index, ranks);
        }
    }
}

// 64 hosts of 4 NUMA nodes with two caches of 8 ranks each: a rank builds the schedule and its plan
// in 8 MiB, for what `auto` chooses on hosts, and for `levels`. Segments repeat the same steps, so
// their plans grow by their own messages only. The times, whose goal is 0.2 s, are only printed.
TEST(BuildingAPlan, OnHostsTakesLittleMemoryAmong4096Ranks) {
    const PartCount parts[] = {{Level::host, 64}, {Level::numa, 4}, {Level::cache, 2}};
    const Placement placement = Placement::in_parts(parts, 8);
    std::vector<int> hosts;
    for (int rank = 0; rank < 4096; ++rank) hosts.push_back(rank / 64);
    using enum Collective;
    struct Row {
        Collective collective;
        const char* algorithm;
        std::vector<int> segments = {1};
    };
    const Row rows[] = {{all_reduce, "levels", {1, 32, 64}},
                        {all_reduce, "two-level-butterfly", {1, 64}},
                        {all_reduce, "multi-rail"},
                        {reduce_scatter, "two-level"},
                        {reduce_scatter, "multi-rail"},
                        {all_gather, "locality-bruck"},
                        {all_gather, "multi-rail"},
                        {broadcast, "two-level", {1, 64}},
                        {broadcast, "multi-rail", {1, 32}},
                        {reduce, "two-level", {1, 64}},
                        {reduce, "multi-rail", {1, 64}},
                        {scatter, "two-level"},
                        {scatter, "multi-rail"},
                        {gather, "two-level"},
                        {all_to_all, "round-robin"},
                        {barrier, "two-level"},
                        {scan, "doubling"},
                        {scan, "chain", {1, 64}}};
    for (const auto& [collective, name, some] : rows)
        for (const int segments : some)
            for (const Rank rank : {Rank{0}, Rank{4094}}) {
                const std::int64_t begin = now_ns();
                const test::AllocationCount count;
                const Job job{.collective = collective,
                              .ranks = 4096,
                              .segments = segments,
                              .placement = placement};
                compile({.schedule = find_algorithm(collective, name).build(job),
                         .call = {.collective = collective, .count = 1 << 20},
                         .method = TransferMethod::registered,
                         .hosts = hosts},
                        rank);
                const std::string what = fmt::format(
                    "{} {}, {} segments, rank {}", name_of(collective), name, segments, rank.index);
                fmt::print("{:8.3f} s {:5.1f} MiB  {}\n",
                           static_cast<double>(now_ns() - begin) * 1e-9,
                           static_cast<double>(count.most_bytes()) / (1 << 20), what);
                EXPECT_LE(count.most_bytes(), 8 << 20) << what;
            }
}

}  // namespace
}  // namespace tutti
