// SPDX-License-Identifier: Apache-2.0
// How a communicator chooses algorithms: by a table, by rules, or by learning.
#include <gtest/gtest.h>

#include "autotune/choice/default_choice.hpp"
#include "autotune/choice/subject.hpp"
#include "autotune/table/selector.hpp"
#include "autotune/table/table_json.hpp"
#include "base/index.hpp"
#include "caller.hpp"
#include "collectives/algorithms/catalog.hpp"
#include "collectives/world/world.hpp"
#include "library/communicator_state.hpp"
#include "tests/base/messages.hpp"

namespace tutti {
namespace {

using test::Caller;

Table table_of(World& world, std::vector<Range> ranges) {
    const Subject subject{.buffers = BufferKind::unregistered};
    return {.sections = {{job_shape_of(world), subject, std::move(ranges)}}};
}

CallArguments all_reduce_of(std::vector<float>& data) {
    return arguments::all_reduce(data, Op::sum);
}

TEST(CommunicatorChoices, TakesWhatTheTableSays) {
    run_as_threads(2, 20, [&](World& world) {
        const Configuration tree{.algorithm = "tree", .transport = "shm"},
            chain{.algorithm = "chain", .transport = "loopback", .segment = Bytes{4096}};
        Communicator communicator(
            world, {.table = table_of(world, {{Bytes{0}, tree}, {Bytes{1024}, chain}})});
        std::vector<float> small(255), large(256);
        EXPECT_EQ(communicator.choice_for(all_reduce_of(small)), tree);
        EXPECT_EQ(communicator.choice_for(all_reduce_of(large)), chain);
        communicator.all_reduce(large);
    });
}

// A range of the table ends within an octave.
TEST(CommunicatorChoices, TakesWhatTheTableSaysForEachLengthOfAnOctave) {
    run_as_threads(2, 20, [&](World& world) {
        const Configuration tree{.algorithm = "tree", .transport = "shm"},
            linear{.algorithm = "linear", .transport = "shm"};
        Communicator::State state(
            nullptr, world, {.table = table_of(world, {{Bytes{0}, tree}, {Bytes{800}, linear}})});
        std::vector<float> data(256);
        for (const std::size_t count : {140, 210, 141, 211, 142, 200, 199}) {
            auto part = std::span(data).first(count);
            state.run(arguments::all_reduce(part, Op::sum));
            const auto latest = std::ranges::max_element(state.plans, {}, &CachedPlan::last_use);
            EXPECT_EQ(latest->configuration, count < 200 ? tree : linear) << count;
        }
        EXPECT_EQ(state.plans.size(), 2U);
        world.barrier();
    });
}

TEST(CommunicatorChoices, TakesRadixAndChannelsOfATable) {
    run_as_threads(4, 20, [&](World& world) {
        const Configuration wide{.algorithm = "tree", .transport = "shm", .radix = 4},
            shared{.algorithm = "ring", .transport = "loopback", .channels = 2};
        Communicator communicator(
            world, {.table = table_of(world, {{Bytes{0}, wide}, {Bytes{1024}, shared}})});
        std::vector<float> small(255, 1), large(5000, 1);
        EXPECT_EQ(communicator.choice_for(all_reduce_of(small)), wide);
        EXPECT_EQ(communicator.choice_for(all_reduce_of(large)), shared);
        communicator.all_reduce(small);
        communicator.all_reduce(large);
        EXPECT_EQ(std::ranges::count(small, 4.0f), 255);
        EXPECT_EQ(std::ranges::count(large, 4.0f), 5000);
    });
}

TEST(CommunicatorChoices, LearnsInRegisteredMemory) {
    run_as_threads(2, 20, [&](World& world) {
        const auto arms = [](Collective) {
            return std::vector<Configuration>{{.algorithm = "ring", .transport = "shm"}};
        };
        Communicator communicator(world, {.learn = Learning{.arms = arms}});
        const std::span<float> memory = communicator.allocate<float>(std::size_t{100} * 300);
        for (std::size_t i = 0; i < 20'000; ++i) {
            const auto part = memory.subspan(i % 100 * 300, 300);
            std::ranges::fill(part, 1.0f);
            communicator.all_reduce(part);
            ASSERT_EQ(std::ranges::count(part, 2.0f), 300);
        }
        const Table table = communicator.learnt();
        ASSERT_EQ(table.sections.size(), 1u);
        EXPECT_EQ(table.sections[0].subject.buffers, BufferKind::registered);
    });
}

TEST(CommunicatorChoices, TakesTheRunnerUpOrARuleWhereTheChoiceCannotBeUsed) {
    run_as_threads(2, 20, [&](World& world) {
        const Configuration of_mpi{.algorithm = "ring", .transport = "mpi"},
            unknown{.algorithm = "warp", .transport = "shm"},
            linear{.algorithm = "linear", .transport = "shm"};
        const RangeEvidence evidence{.runner_up = linear};
        Communicator communicator(
            world, {.table = table_of(world, {{Bytes{0}, of_mpi, Origin::measured, {evidence}},
                                              {Bytes{1024}, unknown}})});
        std::vector<float> small(1, 2), large(1024, 2);
        EXPECT_EQ(communicator.choice_for(all_reduce_of(small)), linear);
        EXPECT_EQ(communicator.choice_for(all_reduce_of(large)).algorithm, "butterfly");
        communicator.all_reduce(large);
        EXPECT_EQ(large.back(), 4);
    });
}

TEST(CommunicatorChoices, RefusesATableOfOtherRanks) {
    run_as_threads(1, 20, [&](World& world) {
        Table table = table_of(world, {{Bytes{0}, {.algorithm = "tree", .transport = "shm"}}});
        table.sections[0].job_shape.ranks = 2;
        EXPECT_THROW(Communicator(world, {.table = table}), Error);
    });
}

// Every rank gets an error if an option differs, and none waits.
std::string refusal_of(World& world, CommunicatorOptions options) {
    return thrown_by([&] { const Communicator communicator(world, std::move(options)); }).text;
}

TEST(CommunicatorChoices, AreRefusedWhereRanksHaveDifferentTables) {
    run_as_threads(3, 20, [&](World& world) {
        const bool is_last = world.rank().index == 2;
        Table one = table_of(world, {{Bytes{0}, {.algorithm = "tree", .transport = "shm"}}});
        Table other = table_of(world, {{Bytes{0}, {.algorithm = "ring", .transport = "shm"}}});
        const std::string both = refusal_of(world, {.table = is_last ? other : one});
        EXPECT_TRUE(both.starts_with("table differs")) << both;
        const std::string some =
            refusal_of(world, {.table = is_last ? std::nullopt : std::optional(one)});
        EXPECT_TRUE(holds(some, "none on rank 2"));
        const std::string file = refusal_of(world, {.table_file = is_last ? "some" : ""});
        EXPECT_TRUE(holds(file, "a file on rank 2"));
        EXPECT_EQ(refusal_of(world, {.table = one}), "");

        CommunicatorOptions learns;
        if (is_last) learns.learn.emplace();
        EXPECT_TRUE(refusal_of(world, learns).starts_with("learn differs"));
        const std::string plans = refusal_of(world, {.most_plans = is_last ? 5u : 6u});
        EXPECT_TRUE(plans.starts_with("most_plans differs")) << plans;
    });
}

// Ranks come at different times, with other buffers, and some calls are only started. What is found
// depends on the machine; that all go on together does not.
TEST(CommunicatorChoices, LearnsWhileTheProgramRuns) {
    run_as_threads(2, 20, [&](World& world) {
        const std::vector<Configuration> arms{
            {.algorithm = "tree", .transport = "shm"},
            {.algorithm = "ring", .transport = "mpi"},  // not among threads
            {.algorithm = "ring", .transport = "loopback"},
            {.algorithm = "one-shot", .transport = "shm"},
            {.impl = "mpi"},
        };
        const auto same_arms = [&](Collective) { return arms; };
        Communicator communicator(world, {.learn = Learning{.arms = same_arms}});
        Caller caller(communicator, world.rank().index);
        for (int i = 0; i < 12'000; ++i) {
            caller.call({.collective = Collective::all_reduce, .count = 300});
            if (i % 10 == 0) caller.call({.collective = Collective::broadcast, .count = 100});
            if (i % 7 == 0) caller.start({.collective = Collective::all_reduce, .count = 300});
            if (i % 70 == world.rank().index)
                while (caller.under_way() > 0) caller.wait_for(0);
        }
        while (caller.under_way() > 0) caller.wait_for(0);
        EXPECT_EQ(caller.wrong(), 0);

        const Table table = communicator.learnt();
        ASSERT_FALSE(table.sections.empty());
        EXPECT_EQ(parse_table(to_json(table), "learnt"), table);
        EXPECT_NO_THROW(Selector(table, job_shape_of(world)));
        for (const Section& section : table.sections)
            for (const Range& range : section.ranges) {
                EXPECT_EQ(range.origin, Origin::learnt);
                EXPECT_EQ(range.choice.impl, "tutti");
                EXPECT_NE(range.choice.transport, "mpi");
                EXPECT_GE(range.evidence.front().time.n, 6);
            }
    });
}

// A call that does not take part in learning uses the incumbent's plan.
TEST(CommunicatorChoices, MakesThePlanOfALearnersIncumbentOnce) {
    run_as_threads(2, 20, [&](World& world) {
        const auto no_others = [](Collective) { return std::vector<Configuration>{}; };
        Communicator::State state(nullptr, world, {.learn = Learning{.arms = no_others}});
        std::vector<float> data(300), longer(310);
        state.choice_for(all_reduce_of(data));
        for (int i = 0; i < 100; ++i) state.run(all_reduce_of(data));
        EXPECT_EQ(state.plans.size(), 1u);
        state.run(all_reduce_of(longer));
        EXPECT_EQ(state.plans.size(), 1u);
    });
}

// Searches are by the size of all blocks, so blocks of one octave may belong to two of them. Each
// keeps its own first choice, as ranks whose buffers are known do not ask again.
TEST(CommunicatorChoices, AreThoseOfTheirSearchForBlocksOfAnOctave) {
    run_as_threads(3, 20, [&](World& world) {
        const Configuration small{.algorithm = "one-shot", .transport = "shm"},
            large{.algorithm = "ring", .transport = "shm"};
        Table table = table_of(world, {{Bytes{0}, small}, {Bytes{65536}, large}});
        table.sections.front().subject.collective = Collective::reduce_scatter;
        const auto no_others = [](Collective) { return std::vector<Configuration>{}; };
        Communicator::State state(nullptr, world,
                                  {.table = table, .learn = Learning{.arms = no_others}});
        std::vector<float> data(30'000);
        const auto call_of = [&](std::size_t count) {
            auto input = std::span(data).first(3 * count), output = std::span(data).last(count);
            return arguments::reduce_scatter(input, output, Op::sum);
        };
        const CallArguments below = call_of(5250), above = call_of(6250);
        EXPECT_EQ(octave_of(below.call), octave_of(above.call));
        state.run(call_of(3000));  // the first of the search that `below` belongs to
        state.run(below);
        state.run(above);
        CallKey key = state.key_of(below, CallMode::blocking);
        key.arm = 0;
        const Learner::Point& search = *state.learner->find(key);
        const auto chosen = state.plan_for(key, state.settled(below), &search.arms.front());
        EXPECT_EQ(chosen.plan->configuration, small);
        world.barrier();
    });
}

// Returns a search that drops the other of two arms after its next try, whatever time that takes.
OnlineSearch almost_settled(int incumbent) {
    constexpr std::size_t calls = 127;  // with the next one, a search has seen enough
    std::vector<double> incumbents(calls, 1000.0), others(calls, 500.0);
    std::fill_n(others.begin(), calls / 2, 2000.0);
    OnlineSearch search({.arms = 2, .incumbent = incumbent});
    RegretBudget budget(0.5);
    search.record({incumbent, calls}, {.samples = incumbents, .calls = 1000.0 * calls}, budget);
    search.record({1 - incumbent, calls}, {.samples = others, .calls = 1000.0 * calls}, budget);
    return search;
}

// Only plans that may still be chosen keep memory.
TEST(CommunicatorChoices, FreeThePlansOfAConfigurationThatItsSearchHasDropped) {
    for (const int kept : {0, 1})
        run_as_threads(2, 20, [&](World& world) {
            const auto ring = [](Collective) {
                return std::vector<Configuration>{{.algorithm = "ring", .transport = "shm"}};
            };
            Communicator::State state(nullptr, world, {.learn = Learning{.arms = ring}});
            std::vector<float> data(4096);
            const CallArguments call = all_reduce_of(data);
            state.run(call);
            const std::int64_t of_first_plan_ns = state.making_ns;
            Learner::Point& point = *state.learner->find(state.key_of(call, CallMode::blocking));
            point.budget.spend(1e15);
            const int other = 1 - kept;
            for (int i = 0; i < 100'000 && point.search.is_candidate(other); ++i) {
                if (i % 2000 == 0) point.search = almost_settled(kept);  // it may have started over
                state.run(call);
            }
            EXPECT_FALSE(point.search.is_candidate(other));
            state.run(call);
            EXPECT_GT(state.making_ns, of_first_plan_ns);
            EXPECT_EQ(state.plans.size(), 1u);
            EXPECT_EQ(state.plans.front().configuration, at(point.arms, kept));
            std::ranges::fill(data, 1.0F);
            state.run(call);
            EXPECT_EQ(data, std::vector<float>(data.size(), 2.0F));
        });
}

// The learner does not wait forever for a call of the length that it times.
TEST(CommunicatorChoices, LearnsOfCallsWhoseLengthsChange) {
    run_as_threads(2, 20, [&](World& world) {
        Communicator communicator(world, {.learn = Learning{}});
        Caller caller(communicator, world.rank().index);
        for (const std::int64_t count : {500, 400, 300})
            for (int i = 0; i < 200'000; ++i)  // more than the longest two rounds
                caller.call({.collective = Collective::all_reduce, .count = count});
        EXPECT_EQ(caller.wrong(), 0);
        const Table table = communicator.learnt();
        ASSERT_EQ(table.sections.size(), 1u);
        EXPECT_EQ(table.sections[0].ranges[0].evidence[0].size, Bytes{1200});
    });
}

std::string default_of(Collective collective, int ranks, std::int64_t count,
                       BufferKind buffers = BufferKind::unregistered, bool oversubscribed = false,
                       bool refuses_peer_memory = false) {
    std::string best;
    run_as_threads(ranks, 20, [&](World& world) {
        world.oversubscribed = oversubscribed;
        world.refuses_peer_memory = refuses_peer_memory;
        const Call call{.collective = collective, .type = DataType::float32, .count = count};
        const auto choices = default_choices(call, buffers, world);
        if (world.is_first()) best = choices.front().algorithm;
    });
    return best;
}

// Processes of several hosts with two ranks each; enough to choose for them.
class PairsOnHosts final : public World {
public:
    explicit PairsOnHosts(int hosts) : hosts_(Placement::in_nodes_of(2 * hosts, 2)) {}
    Rank rank() const override { return {0}; }
    int size() const override { return 2 * int_size(hosts_.nodes()); }
    std::string_view kind() const override { return "processes"; }
    bool one_process() const override { return false; }
    void barrier() override {}
    void all_gather(std::span<const std::byte>, std::span<std::byte>) override {}
    void broadcast(std::span<std::byte>) override {}
    const Placement& hosts() const override { return hosts_; }

private:
    Placement hosts_;
};

TEST(DefaultChoice, AcrossHostsTakesTheNearestWayToEachRank) {
    PairsOnHosts world{2};
    const auto choices = default_choices({.collective = Collective::all_reduce, .count = 1},
                                         BufferKind::unregistered, world);
    EXPECT_EQ(choices.at(0).transport, "hybrid");
    EXPECT_EQ(choices.at(1).transport, "ucx");
}

TEST(DefaultChoice, BetweenTwoHostsWhoseRanksShareCoresLeavesVectorsToLeaders) {
    PairsOnHosts world{2};
    const auto best = [&](Collective collective, std::int64_t bytes) {
        const Configuration choice =
            default_choices(
                {.collective = collective, .type = DataType::float32, .count = bytes / 4},
                BufferKind::unregistered, world)
                .front();
        return variant_name(choice);
    };
    EXPECT_EQ(best(Collective::all_reduce, 64 << 10), "two-level-butterfly");
    EXPECT_EQ(best(Collective::all_reduce, 1 << 20), "multi-rail");
    EXPECT_EQ(best(Collective::broadcast, 1 << 20), "multi-rail");
    world.oversubscribed = true;
    EXPECT_EQ(best(Collective::all_reduce, 8), "levels[l=host,a=butterfly+one-shot]");
    EXPECT_EQ(best(Collective::all_reduce, (4 << 20) - 4), "levels[l=host,a=butterfly+one-shot]");
    EXPECT_EQ(best(Collective::all_reduce, 4 << 20), "multi-rail");
    EXPECT_EQ(best(Collective::broadcast, 1 << 20), "levels[l=host,a=tree+one-shot]");
    EXPECT_EQ(best(Collective::reduce, 1 << 20), "levels[l=host,a=tree+one-shot]");
    EXPECT_EQ(best(Collective::broadcast, 8), "levels[l=host,a=tree+one-shot]");
    EXPECT_EQ(best(Collective::reduce, 8), "linear");
    EXPECT_EQ(best(Collective::reduce_scatter, 1 << 20), "multi-rail");
    EXPECT_EQ(best(Collective::reduce_scatter, 4 << 10), "levels[l=host,a=butterfly+one-shot]");
}

TEST(DefaultChoice, AcrossHostsOfFewRanksDependsOnSharedCores) {
    PairsOnHosts world{2};
    const auto best = [&](Collective collective, std::int64_t bytes) {
        const Call call{.collective = collective, .type = DataType::uint8, .count = bytes};
        return variant_name(default_choices(call, BufferKind::unregistered, world).front());
    };
    EXPECT_EQ(best(Collective::scatter, 8), "levels");
    EXPECT_EQ(best(Collective::gather, 8), "linear");
    EXPECT_EQ(best(Collective::broadcast, 8), "linear");
    EXPECT_EQ(best(Collective::all_to_all, 1 << 20), "round-robin");
    world.oversubscribed = true;
    EXPECT_EQ(best(Collective::all_to_all, 1 << 20), "linear");
    EXPECT_EQ(best(Collective::all_to_all, 8), "two-level");
}

TEST(DefaultChoice, AmongSeveralHostsWhoseRanksShareCoresForwardsLittle) {
    PairsOnHosts world{4};
    const auto best = [&](Collective collective, std::int64_t bytes) {
        const bool has_blocks = collective == Collective::scatter;
        const Call call{.collective = collective,
                        .type = DataType::uint8,
                        .count = has_blocks ? bytes / world.size() : bytes};
        return variant_name(default_choices(call, BufferKind::unregistered, world).front());
    };
    EXPECT_EQ(best(Collective::broadcast, 2 << 20), "multi-rail");
    EXPECT_EQ(best(Collective::scatter, 2 << 20), "multi-rail");
    world.oversubscribed = true;
    EXPECT_EQ(best(Collective::broadcast, 32 << 10), "levels[l=host,a=tree+one-shot]");
    EXPECT_EQ(best(Collective::broadcast, 2 << 20), "levels[l=host,a=ring+one-shot]");
    EXPECT_EQ(best(Collective::scatter, 1 << 20), "multi-rail");
    EXPECT_EQ(best(Collective::scatter, 2 << 20), "linear");
    EXPECT_EQ(best(Collective::all_reduce, 2 << 20), "multi-rail");
}

TEST(DefaultChoice, OnSharedCoresRankZeroLeavesTheBarrierFirst) {
    const auto barrier = [](int ranks, bool oversubscribed) {
        return default_of(Collective::barrier, ranks, 1, BufferKind::unregistered, oversubscribed);
    };
    EXPECT_EQ(barrier(4, true), "linear");
    EXPECT_EQ(barrier(16, true), "linear");
    EXPECT_EQ(barrier(17, true), "dissemination");
    EXPECT_EQ(barrier(4, false), "dissemination");
}

// A barrier of four ranks on two cores alone is faster by dissemination, but the calls after it
// take longer.
TEST(DefaultChoice, OnSharedCoresASearchKeepsTheDefaultBarrier) {
    PairsOnHosts world{2};
    const auto algorithms = [&](Collective collective) {
        const auto choices = choices_to_learn(collective, world);
        return std::ranges::count_if(choices,
                                     [](const Configuration& one) { return one.is_ours(); });
    };
    EXPECT_GT(algorithms(Collective::barrier), 1);
    world.oversubscribed = true;
    EXPECT_EQ(algorithms(Collective::barrier), 0);
    EXPECT_GT(algorithms(Collective::broadcast), 1);
}

TEST(DefaultChoice, TriesOnlyAlgorithmsThatNeedNotBeNamed) {
    PairsOnHosts world{2};
    for (const Configuration& choice : all_choices(Collective::broadcast, world))
        EXPECT_TRUE(!choice.is_ours() ||
                    find_algorithm(Collective::broadcast, choice.algorithm).is_default)
            << choice.algorithm;
}

// Measured: 9 us against 78 for a broadcast of 256 KiB.
TEST(DefaultChoice, KeepsBroadcastsOfTwoRanksWholeAndReducesIfTheKernelRefusesCopies) {
    for (const std::int64_t count : {1, 8192, 65536, 2097152}) {
        EXPECT_EQ(default_of(Collective::broadcast, 2, count), "tree");
        EXPECT_EQ(default_of(Collective::reduce, 2, count, BufferKind::unregistered, false,
                             /*refuses_peer_memory=*/true),
                  "tree");
    }
    EXPECT_EQ(default_of(Collective::broadcast, 4, 2097152), "butterfly");
    EXPECT_EQ(default_of(Collective::all_reduce, 2, 32768), "butterfly");
    EXPECT_EQ(default_of(Collective::all_reduce, 2, 32769), "two-shot");
}

// Each rank adds one half, up to 4 MiB. Above that, the caches cannot keep what the kernel copies.
TEST(DefaultChoice, HalvesReducesOfTwoRanksWhereTheKernelCopies) {
    const auto reduce = [](std::int64_t count) { return default_of(Collective::reduce, 2, count); };
    EXPECT_EQ(reduce(32768), "tree");
    EXPECT_EQ(reduce(32769), "round-robin");
    EXPECT_EQ(reduce(1 << 20), "round-robin");
    EXPECT_EQ(reduce((1 << 20) + 1), "tree");
}

// Without the kernel, two-shot would copy each half in and out.
TEST(DefaultChoice, KeepsAllReducesOfTwoRanksWholeIfTheKernelRefusesCopies) {
    const auto all_reduce = [](int ranks) {
        return default_of(Collective::all_reduce, ranks, 1 << 20, BufferKind::unregistered, false,
                          /*refuses_peer_memory=*/true);
    };
    EXPECT_EQ(all_reduce(2), "butterfly");
    EXPECT_EQ(all_reduce(4), "two-shot");
}

TEST(DefaultChoice, BothOfTwoRanksAddWhereTheyReachTheMemory) {
    for (const BufferKind kind : {BufferKind::registered, BufferKind::mapped}) {
        EXPECT_EQ(default_of(Collective::reduce, 2, 4096, kind), "tree");
        EXPECT_EQ(default_of(Collective::reduce, 2, 4097, kind), "round-robin");
        EXPECT_EQ(default_of(Collective::all_reduce, 2, 8192, kind), "two-shot");
        EXPECT_EQ(default_of(Collective::broadcast, 2, 8192, kind), "tree");
    }
}

TEST(DefaultChoice, UsesTreeForShortAllReducesOfTwoRanksThatReachTheMemory) {
    const auto all_reduce = [](std::int64_t count, BufferKind kind, bool oversubscribed = false) {
        return default_of(Collective::all_reduce, 2, count, kind, oversubscribed);
    };
    for (const BufferKind kind : {BufferKind::registered, BufferKind::mapped}) {
        EXPECT_EQ(all_reduce(128, kind), "butterfly");
        EXPECT_EQ(all_reduce(129, kind), "tree");
        EXPECT_EQ(all_reduce(2048, kind), "tree");
        EXPECT_EQ(all_reduce(2049, kind), "two-shot");
        EXPECT_EQ(all_reduce(2048, kind, true), "one-shot");
    }
    EXPECT_EQ(all_reduce(2048, BufferKind::unregistered), "butterfly");
}

TEST(DefaultChoice, HasFewWaitsWhereRanksShareCores) {
    const auto shared = [](Collective collective, std::int64_t count) {
        return default_of(collective, 4, count, BufferKind::unregistered, true);
    };
    for (const Collective collective : {Collective::broadcast, Collective::reduce})
        for (const std::int64_t count : {1, 2097152})
            EXPECT_EQ(shared(collective, count), "linear");
    EXPECT_EQ(shared(Collective::all_reduce, 1), "one-shot");
    EXPECT_EQ(shared(Collective::all_reduce, 16384), "one-shot");
    EXPECT_EQ(shared(Collective::all_reduce, 16385), "two-shot");
    EXPECT_EQ(default_of(Collective::all_reduce, 4, 4097, BufferKind::registered, true),
              "two-shot");
    EXPECT_EQ(default_of(Collective::all_reduce, 9, 4097, BufferKind::unregistered, true),
              "two-shot");
    EXPECT_EQ(shared(Collective::all_gather, 1), "one-shot");
}

}  // namespace
}  // namespace tutti
