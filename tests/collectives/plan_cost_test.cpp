// SPDX-License-Identifier: Apache-2.0
// What plans cost beside their messages: no allocation while they run, and little time to build even
// among thousands of ranks.
#include <gtest/gtest.h>

#include <iomanip>

#include "allocations.hpp"
#include "base/clock.hpp"
#include "checked_plan.hpp"
#include "collectives/execute/direct_program.hpp"
#include "collectives/execute/message_program.hpp"

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

class RunningAPlan : public testing::TestWithParam<const char*> {};

TEST_P(RunningAPlan, AllocatesNothing) {
    constexpr int ranks = 4;
    run_as_threads(ranks, 20, [](World& world) {
        Communicator communicator(world);
        for (const Algorithm& algorithm : catalog()) {
            if (algorithm.refuses({.collective = algorithm.collective, .ranks = ranks})) continue;
            test::CheckedPlan checked(communicator, GetParam(), algorithm, 1000);
            checked.start();
            checked.wait();
            const test::AllocationCount count;
            checked.plan().run();
            EXPECT_EQ(count.so_far(), 0) << checked.plan().what() << " on rank " << world.rank().index;
        }
        world.barrier();
    });
}

INSTANTIATE_TEST_SUITE_P(Threads, RunningAPlan, testing::Values("loopback", "shm"),
                         [](const auto& param) { return std::string(param.param); });

// A rank that has no peers to talk to: enough to compile for.
class LoneRank final : public World {
public:
    LoneRank(Rank rank, int size) : rank_(rank), size_(size), hosts_(Placement::one_node(size)) {}

    Rank rank() const override { return rank_; }
    int size() const override { return size_; }
    std::string_view kind() const override { return "nobody"; }
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

double seconds_of(const std::function<void()>& work) {
    const std::int64_t begin = now_ns();
    work();
    return static_cast<double>(now_ns() - begin) * 1e-9;
}

// Memory that is only pointed at, never touched.
struct Untouched {
    explicit Untouched(std::size_t size) : bytes(std::make_unique_for_overwrite<std::byte[]>(size)), span(bytes.get(), size) {}
    std::unique_ptr<std::byte[]> bytes;
    std::span<std::byte> span;
};

TEST(BuildingAPlan, TakesLittleTimeAmongThousandsOfRanks) {
    const int ranks = getenv("R") ? atoi(getenv("R")) : 4096;
    std::cout << "seconds to build the plan of one of " << ranks << " ranks\n  messages    direct\n";
    for (const Algorithm& algorithm : catalog()) {
        for (Rank rank : {Rank{0}, Rank{1}, Rank{ranks - 2}}) {
        const Job job{.collective = algorithm.collective,
                      .ranks = ranks,
                      .segments = 32,
                      .placement = Placement::in_nodes_of(ranks, 8)};
        const Schedule schedule = algorithm.build(job);
        const bool is_vector = Promise{algorithm.collective, ranks}.blocks() == 1;
        const Call call{.collective = algorithm.collective, .count = is_vector ? 1 << 14 : 16};
        const Untouched input(input_bytes(call, ranks, rank)), output(output_bytes(call, ranks, rank));
        const PlanRequest request{.schedule = schedule, .call = call, .input = input.span, .output = output.span};
        const double messages = seconds_of(
            [&] { compile_messages(request, LoneRank(rank, ranks), std::size_t{1} << 30); });
        const double direct =
            seconds_of([&] { compile_direct(request, rank, std::nullopt, std::nullopt); });
        std::cout << std::fixed << std::setprecision(3) << std::setw(10) << messages << std::setw(10)
                  << direct << "  " << name_of(algorithm.collective) << " " << algorithm.name << " rank " << rank.index << std::endl;
        }
    }
}

}  // namespace
}  // namespace tutti
