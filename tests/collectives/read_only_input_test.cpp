// SPDX-License-Identifier: Apache-2.0
// No plan writes into memory that MPI only reads: inputs, and the message of a broadcast's root.
#include <memory>

#include "read_only_memory.hpp"
#include "threads.hpp"

namespace tutti {
namespace {

using test::Buffers;

std::int64_t wrong_elements_from(test::ReadOnlyInput& input, Planner& planner,
                                 const test::Attempt& trial, const ReachableMemory* registered) {
    World& world = planner.world();
    const CallBuffers buffers = input.buffers_for(trial.call, world.size(), world.rank());
    const Choice choice{trial.algorithm,
                        {.transport = std::string(trial.transport),
                         .segment = trial.segment,
                         .radix = trial.radix,
                         .channels = trial.channels},
                        {.hosts = trial.placement}};
    const auto plan = planner.plan(choice, trial.call, buffers, registered);
    std::int64_t wrong = 0;
    for (int run = 0; run < trial.runs; ++run)
        wrong += input.wrong_in_run(*plan, trial.call, world, static_cast<std::uint64_t>(run));
    return wrong;
}

class PlansOfReadOnlyInput : public testing::TestWithParam<std::string_view> {
protected:
    void SetUp() override {
        if (const auto missing = find_transport(GetParam()).missing()) GTEST_SKIP() << *missing;
    }

    // An element, a prime number of them, and a bit more than 64 KiB, from two roots, in both kinds
    // of memory. On many ranks only broadcasts use all of these, because their root is in place.
    static std::vector<test::Attempt> attempts(int ranks, std::string_view transport,
                                               Buffers kind) {
        std::vector<test::Attempt> all;
        for (const Algorithm& algorithm : catalog()) {
            const Collective collective = algorithm.collective;
            if (algorithm.refuses({.collective = collective, .ranks = ranks})) continue;
            const bool is_brief = ranks > 4 && collective != Collective::broadcast;
            for (const std::int64_t count : {1, 1009, 16'385})
                for (const int root : {0, ranks - 1}) {
                    if (!has_root(collective) && root != 0) continue;
                    const bool is_left_out = count != 1009 || (has_root(collective) && root == 0) ||
                                             kind == Buffers::registered;
                    if (is_brief && is_left_out) continue;
                    test::Attempt& one = all.emplace_back();
                    one.call = {collective, DataType::float32,
                                reduces(collective) ? Op::avg : Op::sum, Rank{root}, count};
                    one.algorithm = &algorithm;
                    one.transport = transport;
                    one.buffers = kind;
                    one.runs = 1;
                    one.segment = {16 << 10};
                    one.placement = Placement::in_nodes_of(ranks, 3, 2);
                }
        }
        return all;
    }

    void expect_nothing_written(int ranks) const {
        test::run_over(GetParam(), ranks, 20, [&](World& world) {
            Planner planner(world);
            for (const Buffers kind : {Buffers::registered, Buffers::unregistered}) {
                if (kind == Buffers::registered && !world.one_host()) continue;
                std::unique_ptr<ReachableMemory> registered;
                std::vector<std::byte> unregistered;
                if (kind == Buffers::registered)
                    registered = planner.registered_memory(GetParam(), test::ReadOnlyInput::bytes);
                else
                    unregistered.resize(test::ReadOnlyInput::bytes);
                test::ReadOnlyInput input(registered ? registered->mine().data()
                                                     : unregistered.data());
                for (const test::Attempt& trial : attempts(ranks, GetParam(), kind)) {
                    EXPECT_EQ(wrong_elements_from(input, planner, trial, registered.get()), 0)
                        << test::to_text(trial, ranks);
                    EXPECT_EQ(input.memory().take_writes(), 0)
                        << "rank " << world.rank().index << "'s input is written by "
                        << test::to_text(trial, ranks);
                }
                world.barrier();
            }
        });
    }
};

TEST_P(PlansOfReadOnlyInput, OnlyReadIt) {
    for (const int ranks : {2, 3}) expect_nothing_written(ranks);
}

TEST_P(PlansOfReadOnlyInput, OfMoreRanksOnlyReadIt) {
    for (const int ranks : {1, 4, 5, 6, 7, 8, 9}) expect_nothing_written(ranks);
}

INSTANTIATE_TEST_SUITE_P(Threads, PlansOfReadOnlyInput,
                         testing::ValuesIn(test::transports_of_threads()), test::name_of_transport);

// Checks an assumption of the tests above.
TEST(ReadOnlyMemory, CountsAWriteAndGoesOn) {
    std::vector<std::byte> memory(test::ReadOnlyInput::bytes);
    test::ReadOnlyInput input(memory.data());
    volatile std::byte* const first = input.memory().begin();
    *first = std::byte{1};
    input.memory().make_read_only();
    EXPECT_EQ(std::byte{*first}, std::byte{1});
    EXPECT_EQ(input.memory().take_writes(), 0);
    *first = std::byte{2};
    EXPECT_EQ(std::byte{*first}, std::byte{2});
    EXPECT_EQ(input.memory().take_writes(), 1);
    EXPECT_EQ(input.memory().take_writes(), 0);
}

}  // namespace
}  // namespace tutti
