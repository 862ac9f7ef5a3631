// SPDX-License-Identifier: Apache-2.0
// How calls are timed, by operations whose times and faults are known. Sleeping takes at least as
// long as asked for, so that lower limits hold on any machine, however busy.
#include "workloads/timing/measure.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <mutex>
#include <thread>

#include "base/index.hpp"
#include "workloads/timing/batch.hpp"

namespace tutti {
namespace {

using std::chrono::milliseconds;

constexpr int ranks = 3;

// Runs what it is given, on each rank for itself.
class Fake final : public Operation {
public:
    explicit Fake(std::function<void()> call) : call_(std::move(call)) {}
    void run() override {
        ++calls_;
        call_();
    }
    long calls() const { return calls_; }

private:
    std::function<void()> call_;
    long calls_ = 0;
};

Fake nothing() {
    return Fake([] {});
}

Fake sleep_of(milliseconds time) {
    return Fake([time] { std::this_thread::sleep_for(time); });
}

Protocol fixed(std::int64_t samples) {
    Protocol protocol;
    protocol.fixed_samples = samples;
    protocol.warm_up_calls = 1;
    return protocol;
}

Measured measure_one(World& world, Operation& operation, const Protocol& protocol) {
    std::vector<Trial> trials{{.operation = &operation, .prepare = {}, .count_wrong = {}}};
    return measure(world, trials, protocol).at(0);
}

// Does not sleep, which takes a hundred times as long on a busy machine.
void compute_for(std::int64_t ns) {
    for (const std::int64_t end = now_ns() + ns; now_ns() < end;) {
    }
}

void on_ranks(const std::function<void(World&)>& body) { run_as_threads(ranks, 60, body); }

constexpr std::int64_t to_ns(milliseconds time) { return std::chrono::nanoseconds(time).count(); }

constexpr Protocol::Sync every_sync[] = {Protocol::Sync::deadline, Protocol::Sync::barrier};

TEST(Measure, TakesTheTimeOfTheSlowestRank) {
    for (const auto sync : every_sync)
        on_ranks([&](World& world) {
            Fake slow_on_one = sleep_of(milliseconds(world.rank().index == 1 ? 40 : 0));
            Protocol protocol = fixed(5);
            protocol.sync = sync;
            const Measured measured = measure_one(world, slow_on_one, protocol);
            // From the last arrival: a rank that is late itself has less of the call ahead of it; a
            // call is dropped only if it is late by a sixteenth of what lies between starts.
            const milliseconds least(sync == Protocol::Sync::barrier ? 40 : 1);
            for (const auto sample : measured.samples) EXPECT_GE(sample, to_ns(least));
            EXPECT_EQ(measured.from, sync == Protocol::Sync::barrier ? TimeFrom::max_local
                                                                     : TimeFrom::last_arrival);
        });
}

TEST(Measure, ARowSharesItsTimeAmongItsCalls) {
    on_ranks([](World& world) {
        Fake slow_on_one = sleep_of(milliseconds(world.rank().index == 1 ? 2 : 0));
        Protocol protocol = fixed(4);
        protocol.sync = Protocol::Sync::back_to_back;
        Measured measured = measure_one(world, slow_on_one, protocol);
        EXPECT_EQ(measured.start, Start::back_to_back);
        EXPECT_EQ(measured.from, TimeFrom::first_arrival);
        EXPECT_EQ(measured.calls_of_sample, 1);  // each is longer than a row
        for (const auto sample : measured.samples) EXPECT_GE(sample, to_ns(milliseconds(2)));

        Fake quick = Fake([] { compute_for(1'000); });
        measured = measure_one(world, quick, protocol);
        EXPECT_GT(measured.calls_of_sample, 1);
        EXPECT_GE(quick.calls(), 4 * measured.calls_of_sample);
        for (const auto sample : measured.samples) EXPECT_GE(sample, 1'000);
    });
}

TEST(Measure, ARowHasManyCallsAlthoughTheFirstOnesWereSlow) {
    on_ranks([](World& world) {
        int calls = 0;
        Fake slow_at_first = Fake([&] { compute_for(++calls <= 6 ? 60'000 : 1'000); });
        Protocol protocol = fixed(4);
        protocol.sync = Protocol::Sync::back_to_back;
        protocol.warm_up_ns = 0;
        // By the first estimate (60 us per call), a sample would have 8 calls.
        EXPECT_GT(measure_one(world, slow_at_first, protocol).calls_of_sample, 40);
    });
}

TEST(Measure, ARowHasManyCallsAlthoughOneWasDisturbed) {
    on_ranks([](World& world) {
        int calls = 0;
        Fake once_slow = Fake([&] { compute_for(++calls == 12 ? 40'000'000 : 1'000); });
        Protocol protocol = fixed(4);
        protocol.sync = Protocol::Sync::back_to_back;
        protocol.warm_up_ns = 0;
        EXPECT_GT(measure_one(world, once_slow, protocol).calls_of_sample, 40);
    });
}

TEST(Measure, ARowIsOfOneCallWhereSomethingIsDoneBeforeEach) {
    on_ranks([](World& world) {
        Fake quick = nothing();
        std::vector<Trial> trials{{.operation = &quick, .prepare = {}, .count_wrong = {}}};
        trials[0].before_call = [] {};
        Protocol protocol = fixed(4);
        protocol.sync = Protocol::Sync::back_to_back;
        EXPECT_EQ(measure(world, trials, protocol).at(0).start, Start::barrier);
    });
}

TEST(Measure, ReportsWhichRankWasLast) {
    on_ranks([](World& world) {
        Fake slow_on_one = sleep_of(milliseconds(world.rank().index == 1 ? 100 : 0));
        Protocol protocol = fixed(4);
        protocol.sync = Protocol::Sync::barrier;
        const Measured measured = measure_one(world, slow_on_one, protocol);
        EXPECT_EQ(measured.stragglers, (std::map<Rank, std::int64_t>{{Rank{1}, 4}}));
    });
}

TEST(Measure, TakesExactlyAsManySamplesAsAsked) {
    for (const std::int64_t samples : {1, 2, 7, 150})
        on_ranks([&](World& world) {
            Fake operation = nothing();
            Protocol protocol = fixed(samples);
            protocol.sync = Protocol::Sync::barrier;
            const Measured measured = measure_one(world, operation, protocol);
            EXPECT_EQ(measured.samples.size(), static_cast<std::size_t>(samples));
            EXPECT_EQ(measured.stop_reason, "fixed_n");
            EXPECT_GE(operation.calls(), samples + measured.n_warm);
        });
}

// On a busy machine the ranks may miss every deadline; then it gives up, and says so by the number.
TEST(StartGap, DoesNotGrowForEverWhileNoRankIsOnTime) {
    StartGap gap;
    gap.guess(/*call_ns=*/1'000);
    TimedBatch late;
    late.n_invalid = 20;
    std::int64_t before = 0;
    for (int batch = 0; batch < 200; ++batch) {
        EXPECT_GE(gap.ns(), before);
        before = gap.ns();
        gap.learn(late);
    }
    EXPECT_EQ(gap.ns(), 100'000'000);
    StartGap of_long_calls;
    of_long_calls.guess(/*call_ns=*/1'000'000'000);
    of_long_calls.learn(late);
    EXPECT_GT(of_long_calls.ns(), 3'000'000'000);
}

TEST(Measure, RepeatsCallsThatBeganLate) {
    for (const std::int64_t samples : {1, 2, 7, 150})
        on_ranks([&](World& world) {
            Fake operation = nothing();
            Protocol protocol = fixed(samples);
            protocol.sync = Protocol::Sync::deadline;
            const Measured measured = measure_one(world, operation, protocol);
            const auto found = static_cast<std::int64_t>(measured.samples.size());
            EXPECT_LE(found, samples);
            if (found < samples) {
                EXPECT_GT(found + measured.n_invalid, 4 * samples);
            }
        });
}

// The work before each call takes longer than the gap between deadlines can grow in this time, so
// every deadline is missed.
TEST(Measure, StartsAtBarriersIfFewCallsWereMadeAndMostOfThemBeganLate) {
    on_ranks([&](World& world) {
        Fake operation = nothing();
        std::vector<Trial> trials{{.operation = &operation, .prepare = {}, .count_wrong = {}}};
        trials[0].before_call = [calls = 0]() mutable {
            std::this_thread::sleep_for(milliseconds(++calls * 2));
        };
        world.oversubscribed = false;
        Protocol protocol;
        protocol.warm_up_calls = protocol.warm_up_ns = 0;
        protocol.most_calls_of_batch = 4;
        protocol.max_seconds = 0.001;
        const Measured measured = measure(world, trials, protocol).at(0);
        EXPECT_EQ(measured.start, Start::barrier);
        EXPECT_FALSE(measured.samples.empty());
    });
}

// The first guess of a call's time decides how many calls are made before the next look at the
// clock.
TEST(Measure, MakesFewCallsWhenTheyAreLongOnAnyRank) {
    for (const std::int64_t warm_up_calls : {0, 1})
        on_ranks([&](World& world) {
            Fake slow_on_one = sleep_of(milliseconds(world.rank().index == 1 ? 5 : 0));
            Protocol protocol;
            protocol.warm_up_calls = warm_up_calls;
            protocol.max_seconds = 0.001;
            EXPECT_EQ(measure_one(world, slow_on_one, protocol).stop_reason, "max_time");
            EXPECT_LT(slow_on_one.calls(), 20);
        });
}

TEST(Measure, SaysWhyItStopped) {
    struct Case {
        const char* reason;
        double target_ci, max_seconds;
        std::int64_t max_samples;
    };
    for (const Case& expected : {Case{"target_ci", 1e9, 1e9, 1'000'000},
                                 Case{"max_time", 0, 0, 1'000'000}, Case{"max_n", 0, 1e9, 50}})
        on_ranks([&](World& world) {
            Fake operation = sleep_of(milliseconds(1));
            Protocol protocol;
            protocol.sync = Protocol::Sync::barrier;
            protocol.target_ci = expected.target_ci;
            protocol.max_seconds = expected.max_seconds;
            protocol.max_samples = expected.max_samples;
            EXPECT_EQ(measure_one(world, operation, protocol).stop_reason, expected.reason);
        });
}

TEST(Measure, FindsTheSameOnAllRanks) {
    std::mutex mutex;
    std::vector<Measured> of_ranks;
    on_ranks([&](World& world) {
        Fake operation = sleep_of(milliseconds(world.rank().index));
        Measured measured = measure_one(world, operation, fixed(20));
        const std::lock_guard lock(mutex);
        of_ranks.push_back(std::move(measured));
    });
    for (const Measured& measured : of_ranks) {
        EXPECT_EQ(measured.samples, of_ranks[0].samples);
        EXPECT_EQ(measured.stragglers, of_ranks[0].stragglers);
        EXPECT_EQ(measured.n_invalid, of_ranks[0].n_invalid);
        EXPECT_EQ(measured.n_warm, of_ranks[0].n_warm);
    }
}

TEST(Measure, LeavesTheWorkBeforeACallOutOfItsTime) {
    constexpr milliseconds work(5);
    for (const auto sync : every_sync)
        on_ranks([&](World& world) {
            Fake operation = nothing();
            long times = 0;
            std::vector<Trial> trials{{.operation = &operation}};
            trials[0].before_call = [&] {
                ++times;
                std::this_thread::sleep_for(work);
            };
            Protocol protocol = fixed(5);
            protocol.sync = sync;
            const Measured measured = measure(world, trials, protocol).at(0);
            EXPECT_GE(times, static_cast<long>(measured.samples.size()));
            ASSERT_FALSE(measured.samples.empty());
            EXPECT_LT(*std::min_element(measured.samples.begin(), measured.samples.end()),
                      to_ns(work));
        });
}

TEST(TimedBatch, ARowsTimeRunsFromItsFirstArrivalAndIsShared) {
    on_ranks([](World& world) {
        const std::int64_t me = world.rank().index;  // 0, 1, 2
        const std::vector<CallTimes> stamps{
            {.begin_ns = 1000 + 10 * me, .end_ns = 3000 - 100 * me, .late = false, .before_ns = 0}};
        const TimedBatch batch =
            gather_batch(world, Start::back_to_back, stamps, /*calls_of_sample=*/20);
        EXPECT_EQ(batch.samples_ns, (std::vector<std::int64_t>{(3000 - 1000) / 20}));
    });
}

TEST(TimedBatch, ReportsHowLongNearlyAllWorkBeforeCallsTookOnTheSlowestRank) {
    on_ranks([](World& world) {
        std::vector<CallTimes> stamps(10);
        for (std::size_t call = 0; call < stamps.size(); ++call)
            stamps[call].before_ns = world.rank().index == 1 ? 100 + static_cast<long>(call) : 7;
        EXPECT_EQ(gather_batch(world, Start::barrier, stamps).before_ns, 109);
        stamps.push_back({});
        for (auto& stamp : stamps) stamp.before_ns = 5;
        stamps.back().before_ns = 1'000'000;  // one that was interrupted
        EXPECT_EQ(gather_batch(world, Start::barrier, stamps).before_ns, 5);
    });
}

// Runs an operation whose result on rank 1 is wrong in some of its calls. The check sees the result
// of the last call with any input.
Check check_of(const std::function<bool(long call)>& goes_wrong, bool keeps_input = true) {
    std::mutex mutex;
    Check found;
    on_ranks([&](World& world) {
        bool is_wrong = true;
        Fake* self = nullptr;
        Fake operation([&] { is_wrong = world.rank().index == 1 && goes_wrong(self->calls()); });
        self = &operation;
        std::vector<Trial> trials{{.operation = &operation,
                                   .prepare = [&](std::uint64_t) { is_wrong = true; },
                                   .count_wrong = [&](std::uint64_t) { return is_wrong ? 5 : 0; },
                                   .keeps_input = keeps_input}};
        const Measured measured = measure(world, trials, fixed(20)).at(0);
        if (world.is_first()) found = measured.check;
    });
    return found;
}

TEST(MeasureChecks, ThatAllIsWell) {
    for (const bool keeps_input : {true, false}) {
        const Check check = check_of([](long) { return false; }, keeps_input);
        EXPECT_EQ(check.state, CheckState::ok);
        EXPECT_EQ(check.n_wrong, 0);
    }
}

TEST(MeasureChecks, TheFirstCall) {
    const Check check = check_of([](long call) { return call == 1; });
    EXPECT_EQ(check.state, CheckState::fail);
    EXPECT_EQ(check.n_wrong, 5);
}

TEST(MeasureChecks, TheLastCallsAmongThoseThatAreTimed) {
    for (const bool keeps_input : {true, false}) {
        const Check check = check_of([](long call) { return call > 10; }, keeps_input);
        EXPECT_EQ(check.state, CheckState::fail);
        EXPECT_EQ(check.n_wrong, 5);
    }
}

TEST(MeasureChecks, NothingWhereThereIsNoCheck) {
    on_ranks([](World& world) {
        Fake operation = nothing();
        EXPECT_EQ(measure_one(world, operation, fixed(3)).check.state, CheckState::skipped);
    });
}

TEST(MeasureChecks, WithOtherDataEachTime) {
    on_ranks([](World& world) {
        Fake operation = nothing();
        std::vector<std::uint64_t> prepared, checked;
        std::vector<Trial> trials{{.operation = &operation,
                                   .prepare = [&](std::uint64_t seed) { prepared.push_back(seed); },
                                   .count_wrong = [&](std::uint64_t seed) -> std::int64_t {
                                       checked.push_back(seed);
                                       return 0;
                                   }}};
        measure(world, trials, fixed(30));
        EXPECT_EQ(prepared, checked);
        ASSERT_GE(checked.size(), 2U);
        EXPECT_NE(checked.front(), checked.back());
    });
}

TEST(MeasureChecks, EndOnAllRanksWhereOneCannotPrepareOrCheck) {
    for (const bool while_preparing : {true, false}) {
        std::vector<std::string> errors(ranks);
        on_ranks([&](World& world) {
            const auto fail_on_one = [&](bool here) {
                if (here && world.rank().index == 1) throw Error("no copy");
            };
            Fake operation = nothing();
            std::vector<Trial> trials{
                {.operation = &operation,
                 .prepare = [&](std::uint64_t) { fail_on_one(while_preparing); },
                 .count_wrong = [&](std::uint64_t) -> std::int64_t {
                     fail_on_one(!while_preparing);
                     return 0;
                 }}};
            try {
                measure(world, trials, fixed(3));
            } catch (const Error& error) {
                at(errors, world.rank().index) = error.what();
            }
        });
        EXPECT_EQ(errors, std::vector<std::string>(ranks, "no copy (on rank 1)"));
    }
}

// The order of the candidates' batches, on rank 0, once all have warmed up: three trials, eight
// batches each.
std::vector<int> order_of_batches(const std::function<void(Protocol&)>& change) {
    std::vector<int> order;
    on_ranks([&](World& world) {
        std::vector<std::unique_ptr<Fake>> fakes;
        std::vector<Trial> trials;
        for (int i = 0; i < 3; ++i) {
            // Longer than a batch, so that each call has its own batch.
            fakes.push_back(std::make_unique<Fake>([&order, &world, i] {
                if (world.is_first()) order.push_back(i);
                std::this_thread::sleep_for(milliseconds(2));
            }));
            trials.push_back({.operation = fakes.back().get(), .prepare = {}, .count_wrong = {}});
        }
        Protocol protocol = fixed(8);
        protocol.sync = Protocol::Sync::barrier;
        change(protocol);
        measure(world, trials, protocol);
    });
    EXPECT_EQ(order.size(), 3U * (2 + 8));  // the checked call, one to warm up, the samples
    return {order.end() - 3 * 8, order.end()};
}

TEST(MeasureOrder, GoesForthAndBackInEachPairOfRounds) {
    for (const bool shuffle : {true, false}) {
        const auto order =
            order_of_batches([shuffle](Protocol& protocol) { protocol.shuffle = shuffle; });
        for (auto pair = order.begin(); pair < order.end(); pair += 6) {
            EXPECT_TRUE(std::equal(pair, pair + 3, std::make_reverse_iterator(pair + 6)));
            EXPECT_TRUE(std::is_permutation(pair, pair + 3, std::begin({0, 1, 2})));
        }
        if (!shuffle) {
            EXPECT_EQ(std::vector<int>(order.begin(), order.begin() + 3), (std::vector{0, 1, 2}));
        }
    }
}

TEST(MeasureOrder, IsTheSameForTheSameSeed) {
    const auto seeded = [](std::uint64_t seed) {
        return order_of_batches([seed](Protocol& protocol) { protocol.seed = seed; });
    };
    const auto first = seeded(7);
    EXPECT_EQ(seeded(7), first);
    EXPECT_TRUE(seeded(8) != first || seeded(9) != first || seeded(10) != first);
}

}  // namespace
}  // namespace tutti
