// SPDX-License-Identifier: Apache-2.0
// Plans of the whole catalog on real memory, ranks as threads.
#include <atomic>
#include <chrono>
#include <thread>

#include "threads.hpp"

namespace tutti {
namespace {

using test::Attempt;
using test::Buffers;
using test::wrong_elements;

Call call_of(const Algorithm& algorithm, std::int64_t count, int root = 0) {
    return {algorithm.collective, DataType::float32, Op::sum, Rank{root}, count};
}

class EveryPlan : public testing::TestWithParam<std::string_view> {
protected:
    void SetUp() override {
        if (const auto missing = find_transport(GetParam()).missing()) GTEST_SKIP() << *missing;
    }

    // Runs all trials on `ranks` threads.
    void expect_right(int ranks, const std::vector<Attempt>& trials) const {
        test::run_over(GetParam(), ranks, 20, [&](World& world) {
            Planner planner(world);
            for (const Attempt& trial : trials) {
                const Job job{.collective = trial.call.collective, .ranks = ranks};
                if (trial.algorithm->refuses(job)) continue;
                EXPECT_EQ(wrong_elements(planner, trial), 0) << test::to_text(trial, ranks);
            }
        });
    }

    void expect_every_type_and_operation_right(int ranks) const {
        std::vector<Attempt> trials;
        for (const Algorithm& algorithm : catalog())
            for (DataType type : all_data_types())
                for (Op op : all_ops()) {
                    if (!reduces(algorithm.collective) && op != Op::sum) continue;
                    trials.push_back({{algorithm.collective, type, op, Rank{1}, 129},
                                      &algorithm,
                                      GetParam(),
                                      false,
                                      Buffers::registered,
                                      /*runs=*/1});
                }
        expect_right(ranks, trials);
    }

    void expect_right_with_a_radix_and_in_channels(int ranks) const {
        std::vector<Attempt> trials;
        for (const Algorithm& algorithm : catalog())
            for (const int channels : {1, 2, 3})
                for (const bool in_place : {false, true}) {
                    Attempt& trial = trials.emplace_back();
                    trial.call = call_of(algorithm, 3000, 1);
                    trial.algorithm = &algorithm;
                    trial.transport = GetParam();
                    trial.in_place = in_place;
                    trial.runs = 2;
                    trial.segment = {512};
                    trial.placement = Placement::in_nodes_of(ranks, 3, 2);
                    trial.radix = channels + 1;
                    trial.channels = channels;
                }
        expect_right(ranks, trials);
    }
};

TEST_P(EveryPlan, IsRightForEveryCount) {
    for (int ranks : {1, 2, 3, 4, 5, 7, 8}) {
        std::vector<Attempt> trials;
        for (const Algorithm& algorithm : catalog())
            for (int count : {0, 1, ranks - 1, ranks, 101, 1030})
                trials.push_back({call_of(algorithm, count, ranks / 2), &algorithm, GetParam()});
        expect_right(ranks, trials);
    }
}

TEST_P(EveryPlan, IsRightInPlaceAndInRegisteredMemory) {
    for (int ranks : {1, 2, 3, 4, 5, 8}) {
        std::vector<Attempt> trials;
        for (const Algorithm& algorithm : catalog())
            for (Buffers buffers : {Buffers::registered, Buffers::unregistered})
                for (bool in_place : {false, true})
                    trials.push_back({call_of(algorithm, 333, ranks - 1), &algorithm, GetParam(),
                                      in_place, buffers, /*runs=*/3});
        expect_right(ranks, trials);
    }
}

TEST_P(EveryPlan, IsRightForEveryTypeAndOperation) { expect_every_type_and_operation_right(3); }

TEST_P(EveryPlan, OfMoreRanksIsRightForEveryTypeAndOperation) {
    expect_every_type_and_operation_right(4);
}

TEST_P(EveryPlan, IsRightForEveryRootAndNodeSize) {
    for (int ranks : {3, 5, 6}) {
        std::vector<Attempt> trials;
        for (const Algorithm& algorithm : catalog()) {
            if (!has_root(algorithm.collective) && !algorithm.hierarchical) continue;
            for (int root = 0; root < ranks; ++root)
                for (int per_node : {2, 3})
                    trials.push_back({call_of(algorithm, 50, root),
                                      &algorithm,
                                      GetParam(),
                                      false,
                                      Buffers::unregistered,
                                      1,
                                      {1024},
                                      Placement::in_nodes_of(ranks, per_node)});
        }
        expect_right(ranks, trials);
    }
}

TEST_P(EveryPlan, IsRightWithARadixAndInChannelsOfItsOwn) {
    for (int ranks : {2, 5}) expect_right_with_a_radix_and_in_channels(ranks);
}

TEST_P(EveryPlan, OfMoreRanksIsRightWithARadixAndInChannelsOfItsOwn) {
    expect_right_with_a_radix_and_in_channels(8);
}

// Each rank in turn comes late, and no other one may leave before it enters.
TEST_P(EveryPlan, OfABarrierEndsAfterAllRanksHaveEntered) {
    for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8}) {
        std::atomic<int> entered = 0;
        test::run_over(GetParam(), ranks, 20, [&](World& world) {
            Planner planner(world);
            int runs = 0;
            for (const Algorithm* algorithm : algorithms_of(Collective::barrier)) {
                const Configuration configuration{.transport = std::string(GetParam())};
                const auto plan = planner.plan({algorithm, configuration},
                                               {.collective = Collective::barrier}, {});
                for (int late = 0; late < ranks; ++late) {
                    if (world.rank().index == late)
                        std::this_thread::sleep_for(std::chrono::microseconds(200));
                    ++entered;
                    plan->run();
                    EXPECT_GE(entered, ++runs * ranks) << algorithm->name << ", " << ranks;
                }
            }
        });
    }
}

// Many segments: a message plan uses several lanes. Two channels have their own orders.
TEST_P(EveryPlan, IsRightInSegmentsAndInChannels) {
    for (int ranks : {2, 4, 6}) {
        std::vector<Attempt> trials;
        std::vector<Rank> there, back;
        for (const Rank rank : all_ranks(ranks)) there.push_back(rank);
        back.assign(there.rbegin(), there.rend());
        for (const Algorithm& algorithm : catalog())
            for (const Order& order : {Order{}, Order{{back}}, Order{{there, back}}})
                for (const bool in_place : {false, true})
                    for (const Op op : {Op::sum, Op::avg}) {
                        if (op == Op::avg && !reduces(algorithm.collective)) continue;
                        Attempt& trial = trials.emplace_back();
                        trial.call = call_of(algorithm, 1000, 1);
                        trial.call.op = op;
                        trial.algorithm = &algorithm;
                        trial.transport = GetParam();
                        trial.in_place = in_place;
                        trial.runs = 2;
                        trial.segment = {256};
                        trial.placement = Placement::in_nodes_of(ranks, 3, 2);
                        trial.order = order;
                    }
        expect_right(ranks, trials);
    }
}

// Plans whose moves are distributed to several blocks.
class EveryPlanOnADevice : public EveryPlan {};

TEST_P(EveryPlanOnADevice, IsRightForLargeCalls) {
    for (int ranks : {2, 3}) {
        std::vector<Attempt> trials;
        for (const Algorithm& algorithm : catalog())
            for (const Buffers buffers : {Buffers::registered, Buffers::unregistered})
                trials.push_back({call_of(algorithm, 50'001, 1), &algorithm, GetParam(),
                                  /*in_place=*/false, buffers});
        expect_right(ranks, trials);
    }
}

// Ranks combine data from several others, of more than one piece, into a result that is none of the
// inputs or one of them.
TEST(SingleCopy, IsRightInPiecesFromSeveralRanks) {
    for (const int ranks : {2, 4})
        run_as_threads(ranks, 20, [&](World& world) {
            Planner planner(world);
            if (planner.refuses("shm-cma")) return;
            for (const Algorithm& algorithm : catalog()) {
                const bool adds_several =
                    algorithm.name == "linear" || algorithm.name == "one-shot";
                if (!reduces(algorithm.collective) || !adds_several) continue;
                for (const bool in_place : {false, true}) {
                    const Attempt trial{call_of(algorithm, 600'011), &algorithm, "shm-cma",
                                        in_place};
                    EXPECT_EQ(wrong_elements(planner, trial), 0) << test::to_text(trial, ranks);
                }
            }
        });
}

// A rank may change its part as soon as its call ends, before the root has added all parts.
TEST(SingleCopy, LetsAPeerGoOnWhenAllOfItsPartIsRead) {
    run_as_threads(2, 20, [](World& world) {
        Planner planner(world);
        if (planner.refuses("shm-cma")) return;
        const Algorithm& linear = find_algorithm(Collective::reduce, "linear");
        std::vector<float> input(1'000'000), output(input.size());
        const CallBuffers buffers{std::as_bytes(std::span(input)),
                                  std::as_writable_bytes(std::span(output)), false};
        const CallBuffers without_result{buffers.input, {}, false};
        const auto plan =
            planner.plan({&linear, {.transport = "shm-cma"}}, call_of(linear, 1'000'000),
                         world.is_first() ? buffers : without_result);
        for (int run = 0; run < 50; ++run) {
            std::ranges::fill(input, 1.0F);
            world.barrier();
            plan->run();
            EXPECT_TRUE(!world.is_first() || output.back() == 2.0F)
                << output.back() << " in run " << run;
            input.back() = 100;
            world.barrier();
        }
    });
}

// Rank 1 forwards data that it never received: the check must detect it, and nothing may crash.
TEST_P(EveryPlan, OfAWrongScheduleRunsAndIsFoundWrong) {
    const Algorithm forgetful{Collective::broadcast, "forgetful", "rank 1 lacks it",
                              [](const Job&) {
                                  return Schedule({3, 1, 1}, [](int, Step& step) {
                                      step.copy({.chunks = whole_message, .from = {1}, .to = {2}});
                                  });
                              },
                              [](const Job&) { return std::optional<std::string>(); }};
    test::run_over(GetParam(), 3, 20, [&](World& world) {
        Planner planner(world);
        const Attempt trial{call_of(forgetful, 100), &forgetful, GetParam()};
        const std::int64_t wrong = wrong_elements(planner, trial);
        EXPECT_EQ(wrong > 0, !world.is_first());
    });
}

TEST(Route, IsRefusedOverATransportThatTheRanksCannotUse) {
    run_as_threads(2, 20, [](World& world) {
        Planner planner(world);
        const Algorithm& ring = find_algorithm(Collective::all_reduce, "ring");
        const Choice choice{&ring, {.transport = "mpi"}};  // the ranks are threads
        EXPECT_THROW(planner.route(choice, {.count = 1}, {}), Error);
    });
}

INSTANTIATE_TEST_SUITE_P(Threads, EveryPlan, testing::ValuesIn(test::transports_of_threads()),
                         test::name_of_transport);
INSTANTIATE_TEST_SUITE_P(Gpus, EveryPlan, testing::Values("cuda"), test::name_of_transport);
INSTANTIATE_TEST_SUITE_P(Threads, EveryPlanOnADevice, testing::Values("cuda-emulated"),
                         test::name_of_transport);
INSTANTIATE_TEST_SUITE_P(Gpus, EveryPlanOnADevice, testing::Values("cuda"),
                         test::name_of_transport);

}  // namespace
}  // namespace tutti
