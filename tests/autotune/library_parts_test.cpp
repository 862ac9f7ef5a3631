// SPDX-License-Identifier: Apache-2.0
// State that a communicator keeps between calls.
#include <gtest/gtest.h>

#include "collectives/world/world.hpp"
#include "library/communicator_state.hpp"

namespace tutti {
namespace {

TEST(CommunicatorState, KeepsNoMorePlansThanAskedFor) {
    run_as_threads(2, 20, [](World& world) {
        Communicator::State state(nullptr, world, {.most_plans = 3});
        std::vector<float> data(100);
        for (std::size_t count = 1; count <= 10; ++count) {
            auto part = std::span(data).first(count);
            state.run(arguments::all_reduce(part, Op::sum));
            EXPECT_LE(state.plans.size(), 3U);
        }
        EXPECT_EQ(state.plans.size(), 3U);
        world.barrier();
    });
}

// Eight tokens of a byte would be combined one by one.
TEST(CommunicatorState, GivesBarriersATokenOfOneElement) {
    EXPECT_EQ(elements_of_block(comparable({.collective = Collective::barrier})), 1);
}

// One plan does the same call in any buffers, each of which comes several times in a row.
TEST(CommunicatorState, DoesACallInTheBuffersThatAreGivenThisTime) {
    run_as_threads(2, 20, [](World& world) {
        Communicator::State state(nullptr, world, {});
        const auto me = static_cast<float>(world.rank().index);
        for (int i = 0; i < 4; ++i)
            for (float buffer = 0; buffer < 3; ++buffer) {
                static thread_local std::array<std::array<float, 64>, 3> inputs, outputs;
                auto& input = inputs[static_cast<std::size_t>(buffer)];
                auto& output = outputs[static_cast<std::size_t>(buffer)];
                for (int repetition = 0; repetition < 3; ++repetition) {
                    const float mine = 1 + me + 10 * buffer + 100 * static_cast<float>(repetition);
                    input.fill(mine);
                    output.fill(-1);
                    state.run(arguments::all_reduce(input, output, Op::sum));
                    EXPECT_EQ(output[63], 2 * mine + (me == 0 ? 1 : -1));
                }
            }
        EXPECT_EQ(state.plans.size(), 1U);
        world.barrier();
    });
}

// A recent call is repeated with other lengths, types and operations, as far as its plan serves
// them.
TEST(CommunicatorState, RepeatsACallWithOtherElements) {
    run_as_threads(2, 20, [](World& world) {
        Communicator::State state(nullptr, world, {});
        const int me = world.rank().index;
        std::vector<std::int64_t> input(64), output(64);
        const auto bytes = [](auto& vector, std::size_t of_block) {
            return std::as_writable_bytes(std::span(vector)).first(of_block);
        };
        constexpr auto type = DataType::int64;
        const Call call{Collective::all_reduce, type, Op::sum, Rank{0}, 9};
        for (int i = 0; i < 3; ++i) state.run({call, {bytes(input, 72), bytes(output, 72)}});
        ASSERT_NE(state.last_recent, nullptr);
        const auto run = RepeatableRun::of(*state.last_recent);
        for (const auto& [count, op] :
             {std::pair{12, Op::sum}, {9, Op::max}, {15, Op::max}, {10, Op::sum}}) {
            std::ranges::fill(input, 5 + me);
            std::ranges::fill(output, -1);
            ASSERT_TRUE(state.repeat(run, {type, op, 8 * count}));
            EXPECT_EQ(std::ranges::count(output, op == Op::sum ? 11 : 6), count);
            EXPECT_EQ(std::ranges::count(output, -1), 64 - count);
        }
        EXPECT_FALSE(state.repeat(run, {type, Op::sum, 64})) << "the octave below";
        EXPECT_FALSE(state.repeat(run, {type, Op::sum, 128})) << "another search";
        EXPECT_FALSE(state.repeat(run, {type, Op::sum, 136})) << "the octave above";
        EXPECT_FALSE(state.repeat(run, {type, Op::avg, 72})) << "another class";
        EXPECT_EQ(state.plans.size(), 1U);
        world.barrier();
    });
}

// Buffers that do not overlap may do so with longer blocks. Then the call is not repeated.
TEST(CommunicatorState, RepeatsNoCallWhoseBuffersWouldOverlap) {
    run_as_threads(2, 20, [](World& world) {
        Communicator::State state(nullptr, world, {});
        std::vector<float> data(64, 1);
        const auto all = std::as_writable_bytes(std::span(data));
        const Call call{Collective::all_reduce, DataType::float32, Op::sum, Rank{0}, 9};
        for (int i = 0; i < 3; ++i) state.run({call, {all.first(36), all.subspan(44, 36)}});
        ASSERT_NE(state.last_recent, nullptr);
        const auto run = RepeatableRun::of(*state.last_recent);
        EXPECT_FALSE(state.repeat(run, {DataType::float32, Op::sum, 48}));
        EXPECT_TRUE(state.repeat(run, {DataType::float32, Op::sum, 44}));
        EXPECT_EQ(data[11], 2.F);
        EXPECT_EQ(data[22], 1.F);
        world.barrier();
    });
}

// Counts the collective calls of a world.
class CountingWorld final : public World {
public:
    explicit CountingWorld(World& inner) : inner_(inner) { hang_timeout = inner.hang_timeout; }

    Rank rank() const override { return inner_.rank(); }
    int size() const override { return inner_.size(); }
    std::string_view kind() const override { return inner_.kind(); }
    bool one_process() const override { return inner_.one_process(); }
    const Placement& hosts() const override { return inner_.hosts(); }
    void barrier() override {
        ++exchanges;
        inner_.barrier();
    }
    void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        ++exchanges;
        inner_.all_gather(mine, all);
    }
    void broadcast(std::span<std::byte> data) override {
        ++exchanges;
        inner_.broadcast(data);
    }

    int exchanges = 0;

private:
    World& inner_;
};

// Only the first call of an octave of sizes, and of a class of types and operations, costs
// exchanges of the ranks: one for the call and its buffers, and two for the memory of all ways in
// which a new plan may run.
TEST(CommunicatorState, ExchangesLittleForTheFirstCallOfAnOctave) {
    for (const int ranks : {2, 4, 8})
        run_as_threads(ranks, 20, [](World& inner) {
            CountingWorld world(inner);
            Communicator::State state(nullptr, world, {});
            EXPECT_EQ(world.exchanges, 1) << "the options";
            const auto exchanges_of = [&](const CallArguments& call) {
                const int before = world.exchanges;
                state.run(call);
                return world.exchanges - before;
            };
            std::vector<std::byte> ordinary(std::size_t{1} << 22);
            const auto sum_of = [](std::span<std::byte> memory, std::int64_t count,
                                   DataType type = DataType::float32, Op op = Op::sum) {
                const auto part = memory.first(as_size(count) * size_of(type));
                return CallArguments{{Collective::all_reduce, type, op, Rank{0}, count},
                                     {part, part, /*in_place=*/true}};
            };
            EXPECT_EQ(exchanges_of(sum_of(ordinary, 2)), 3) << "the first call";
            const auto registered = state.allocate(ordinary.size());
            for (const std::span<std::byte> memory : {registered, std::span(ordinary)}) {
                for (const std::int64_t count : {4, 200, 1000, 4000, 20'000, 100'000, 1'000'000})
                    EXPECT_EQ(exchanges_of(sum_of(memory, count)), 3) << count;
                EXPECT_EQ(exchanges_of(sum_of(memory, 3)), 0) << "a length of the same octave";
                EXPECT_EQ(exchanges_of(sum_of(memory, 65'537)), 0);
                EXPECT_EQ(exchanges_of(sum_of(memory, 2, DataType::float64)), 0) << "another type";
                state.release(state.allocate(1));  // forgets which calls were recent
                EXPECT_EQ(exchanges_of(sum_of(memory, 4, DataType::float32, Op::max)), 0);
                EXPECT_EQ(exchanges_of(sum_of(memory, 8, DataType::half)), 1) << "another class";
                EXPECT_EQ(exchanges_of(sum_of(memory, 4, DataType::float32, Op::avg)), 1);
            }
            inner.barrier();
        });
}

// Options of a world that the program passes in stay unchanged.
TEST(CommunicatorState, GivesItsOwnWorldItsDeadlineAndHowItWaits) {
    for (const bool background : {false, true}) {
        auto own = world_of_one();
        World& world = *own;
        const Communicator::State state(std::move(own), world,
                                        {.deadline = 7, .background = background});
        EXPECT_EQ(world.hang_timeout, 7);
        EXPECT_EQ(world.background, background);
    }
}

// Peers reach an arena to its last byte, and not one further.
TEST(RegisteredMemory, EndsWithItsArena) {
    const auto world = world_of_one();
    RegisteredMemory memory(*world);
    const std::span<std::byte> all = memory.allocate(std::size_t{64} << 20);
    EXPECT_EQ(memory.place_of(all).arena, 0);
    EXPECT_EQ(memory.place_of(all).offset, 0U);
    EXPECT_EQ(memory.place_of(all.subspan(100)).offset, 100U);
    EXPECT_EQ(memory.place_of({all.data(), all.size() + 1}).arena, -1);
    EXPECT_EQ(memory.place_of({all.data() + all.size(), 1}).arena, -1);
    memory.release(all);
}

CallKey call_of(std::int64_t count) {
    return {.call = {.collective = Collective::all_reduce, .count = count}};
}

Learning of_one_arm() {
    return {.arms = [](Collective) { return std::vector<Configuration>{}; }};
}

// A program loses what its ranks lose on average.
TEST(LearnerOfRanks, GoesByTheMeanOfAllRanks) {
    run_as_threads(3, 20, [](World& world) {
        Learner learner(world, of_one_arm());
        Learner::Point& point =
            learner.begin(call_of(100), {.algorithm = "ring", .transport = "shm"});
        const double mine = world.rank().index == 1 ? 10'000 : 1000;
        while (!point.search.time_of(0)) learner.record(point, point.shape, mine, 0);
        EXPECT_EQ(point.search.time_of(0)->p50, 4000);
    });
}

// Times of a trial count on all ranks, or they would choose differently.
TEST(LearnerOfRanks, GoesByTheMeanOfATrialOnAllRanks) {
    run_as_threads(3, 20, [](World& world) {
        const Configuration other{.algorithm = "tree", .transport = "shm"};
        Learner learner(world, {.arms = [&](Collective) { return std::vector{other}; }});
        const CallKey key = call_of(100);
        Learner::Point& point = learner.begin(key, {.algorithm = "ring", .transport = "shm"});
        // Only rank 1 sees that the other one is slower. The trial waits until it is worth an
        // exchange, which takes long on a busy machine.
        const double slower = world.rank().index == 1 ? 80'000 : 5'000;
        for (int call = 0; call < 10'000'000 && !point.search.time_of(1); ++call)
            learner.record(point, point.shape, learner.arm_for(point, key) == 1 ? slower : 20'000,
                           0);
        ASSERT_TRUE(point.search.time_of(1));
        EXPECT_EQ(point.search.time_of(1)->p50, 30'000);
        EXPECT_EQ(point.search.incumbent(), 0);
    });
}

// Until the loss is made up for, no other arm is tried.
TEST(LearnerOfRanks, CountsTheTimeThatAnExcludedArmHasCost) {
    const auto trials_after = [](double lost_ns) {
        int trials = 0;
        run_as_threads(1, 20, [&](World& world) {
            const auto arms = [](Collective) {
                return std::vector<Configuration>{{.algorithm = "tree", .transport = "shm"},
                                                  {.algorithm = "linear", .transport = "shm"}};
            };
            Learner learner(world, {.arms = arms});
            const CallKey key = call_of(100);
            Learner::Point& point = learner.begin(key, {.algorithm = "ring", .transport = "shm"});
            learner.exclude(point, 1, lost_ns);
            for (int call = 0; call < 5'000; ++call) {
                trials += learner.arm_for(point, key) == 0 ? 0 : 1;
                learner.record(point, point.shape, 100'000, 0);
            }
        });
        return trials;
    };
    EXPECT_GT(trials_after(0), 0);
    EXPECT_EQ(trials_after(1e9), 0);  // more than a bound of 5 % allows in 0.5 s
}

// Few calls of other lengths are timed. They earn the budget for trials like timed ones.
TEST(LearnerOfRanks, CountsTheTimeOfUntimedCalls) {
    run_as_threads(1, 20, [](World& world) {
        const auto arms = [](Collective) {
            return std::vector<Configuration>{{.algorithm = "tree", .transport = "shm"}};
        };
        Learner learner(world, {.arms = arms});
        const CallKey key = call_of(256), longer = call_of(500);
        Learner::Point& point = learner.begin(key, {.algorithm = "ring", .transport = "shm"});
        learner.exclude(point, 1, 10e6);  // the budget of 0.25 s
        point.search = OnlineSearch({.arms = 2, .least_call_ns = 1000});
        int untimed = 0, trials = 0;
        for (int call = 0; call < 200'000; ++call) {
            const CallKey& now = call % 2 == 0 ? key : longer;
            const Learner::CallShape shape = learner.shape_of(now);
            const Learner::Needs needs = Learner::needs_of(point, 0, shape);
            if (needs == Learner::Needs::nothing) {
                ++untimed;
                continue;
            }
            if (needs == Learner::Needs::search) trials += learner.arm_for(point, now);
            learner.record(point, shape, now.call == key.call ? 1'000 : 4'000, 0);
        }
        EXPECT_GT(untimed, 150'000);
        EXPECT_GT(trials, 0);  // the longer calls take 0.4 s, the others 0.1 s
    });
}

TEST(LearnerOfRanks, TellsFromWhichSizeOnAChoiceWasLearnt) {
    run_as_threads(1, 20, [](World& world) {
        Learner learner(world, of_one_arm());
        const auto learn = [&](std::int64_t floats, const char* algorithm) {
            Learner::Point& point =
                learner.begin(call_of(floats), {.algorithm = algorithm, .transport = "shm"});
            while (!point.search.time_of(0)) learner.record(point, point.shape, 1000, 0);
        };
        learn(16, "ring");
        learn(300, "tree");  // 1200 bytes: of the octave from 1024 on
        learn(600, "linear");
        const auto sections = learner.learnt({.ranks = 1, .ranks_per_host = 1});
        ASSERT_EQ(sections.size(), 1u);
        std::vector<std::int64_t> from;
        for (const Range& range : sections[0].ranges) from.push_back(range.from.count);
        EXPECT_EQ(from, (std::vector<std::int64_t>{0, 1024, 2048}));
        EXPECT_EQ(sections[0].ranges[1].choice.algorithm, "tree");
    });
}

// 1024 to 1279 bytes, ... 1792 to 2047 take times of their own.
TEST(LearnerOfRanks, TellsQuartersOfAnOctaveApart) {
    run_as_threads(1, 20, [](World& world) {
        const Learner learner(world, of_one_arm());
        const auto quarter = [&](std::int64_t floats) {
            return learner.shape_of(call_of(floats)).quarter;
        };
        EXPECT_EQ(quarter(256), 0);
        EXPECT_EQ(quarter(319), 0);
        EXPECT_EQ(quarter(320), 1);
        EXPECT_EQ(quarter(384), 2);
        EXPECT_EQ(quarter(448), 3);
        EXPECT_EQ(quarter(511), 3);
        EXPECT_EQ(quarter(512), 0);
    });
}

}  // namespace
}  // namespace tutti
