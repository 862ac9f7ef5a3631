// SPDX-License-Identifier: Apache-2.0
// Computes the time of a call from known stamps, so that there is one right value.
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "workloads/timing/batch.hpp"
#include "workloads/timing/measure.hpp"

namespace tutti {
namespace {

constexpr int ranks = 3;

void on_ranks(const std::function<void(World&)>& body) { run_as_threads(ranks, 60, body); }

// Stamps of one call on each rank.
struct Stamps {
    std::int64_t begin, end;
    bool late = false;
};

TimedBatch timed(Start start, const std::vector<std::vector<Stamps>>& of_ranks) {
    TimedBatch found;
    on_ranks([&](World& world) {
        std::vector<CallTimes> mine;
        for (const Stamps& call : at(of_ranks, world.rank()))
            mine.push_back(
                {.begin_ns = call.begin, .end_ns = call.end, .late = call.late, .before_ns = 0});
        const TimedBatch batch = gather_batch(world, start, mine);
        if (world.is_first()) found = batch;
    });
    return found;
}

// The slowest rank is the definition of the figure: no mean of the ranks' ends, and no rank's own
// time, which here are 1650, 990, 1490 and 2470.
TEST(TimedBatch, AtADeadlineTheTimeIsFromTheLastArrivalToTheLastEnd) {
    const TimedBatch batch =
        timed(Start::deadline, {{{1000, 1990}}, {{1010, 2500}}, {{1030, 3500}}});
    EXPECT_EQ(batch.samples_ns, std::vector<std::int64_t>{3500 - 1030});
    EXPECT_EQ(batch.skews_ns, std::vector<std::int64_t>{30});
    EXPECT_EQ(batch.stragglers, (std::map<Rank, std::int64_t>{{Rank{2}, 1}}));
    const TimedBatch first_is_last =
        timed(Start::deadline, {{{1000, 3000}}, {{1010, 2500}}, {{1030, 2000}}});
    EXPECT_EQ(first_is_last.samples_ns, std::vector<std::int64_t>{3000 - 1030});
}

// Clocks of a barrier need not agree: each rank's time is its own, and the longest counts.
TEST(TimedBatch, AfterABarrierTheTimeIsTheLongestOfTheRanksOwn) {
    const TimedBatch batch =
        timed(Start::barrier, {{{1000, 1990}}, {{5000, 6500}}, {{9000, 9100}}});
    EXPECT_EQ(batch.samples_ns, std::vector<std::int64_t>{1500});
    EXPECT_TRUE(batch.skews_ns.empty());
}

TEST(TimedBatch, LeavesOutWhatAnyRankBeganLateAndCountsIt) {
    const TimedBatch batch =
        timed(Start::deadline, {{{0, 10}, {100, 120}, {200, 230}, {300, 340}},
                                {{0, 10}, {100, 120, true}, {200, 230}, {300, 340}},
                                {{0, 10}, {100, 120}, {200, 230}, {300, 340, true}}});
    EXPECT_EQ(batch.samples_ns, (std::vector<std::int64_t>{10, 30}));
    EXPECT_EQ(batch.n_invalid, 2);
    EXPECT_FALSE(batch.first_was_late);
    EXPECT_EQ(batch.skews_ns.size(), 2U);
    EXPECT_TRUE(timed(Start::deadline, {{{0, 10, true}}, {{0, 10}}, {{0, 10}}}).first_was_late);
}

// A thousandth of a millisecond, and a sixteenth of the gap; none where the call before was not
// over.
TEST(IsLate, ARankThatWasBusyAtTheDeadlineOrLeftTheWaitLongAfterIt) {
    EXPECT_FALSE(is_late(/*first_look=*/900, /*begin=*/1'000, /*deadline=*/1'000, /*gap=*/0));
    EXPECT_FALSE(is_late(1'000, 1'000, 1'000, 0));
    EXPECT_TRUE(is_late(1'001, 1'001, 1'000, 0));
    EXPECT_FALSE(is_late(900, 2'000, 1'000, 0));
    EXPECT_TRUE(is_late(900, 2'001, 1'000, 0));
    EXPECT_FALSE(is_late(900, 2'000 + 100, 1'000, 1'600));
    EXPECT_TRUE(is_late(900, 2'001 + 100, 1'000, 1'600));
}

class Doing final : public Operation {
public:
    explicit Doing(std::function<void()> call) : call_(std::move(call)) {}
    void run() override { call_(); }

private:
    std::function<void()> call_;
};

// One call of 20 ms on one rank, where calls are to start every millisecond.
TEST(Deadlines, ARankThatIsStillInTheCallBeforeIsLate) {
    on_ranks([](World& world) {
        long calls = 0;
        Doing first_is_long([&] {
            if (world.rank().index == 1 && ++calls == 1)
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
        });
        BatchRunner runner(world, Start::deadline);
        const auto times = runner.run(first_is_long, {.samples = 3, .gap_ns = 1'000'000});
        if (world.rank().index != 1) return;
        EXPECT_TRUE(times[1].late);
        EXPECT_TRUE(times[2].late);
    });
}

TEST(Deadlines, AreAGapApart) {
    constexpr std::int64_t gap = 2'000'000;
    on_ranks([](World& world) {
        Doing nothing([] {});
        BatchRunner runner(world, Start::deadline);
        for (int attempt = 0; attempt < 3; ++attempt) {
            const auto times = runner.run(nothing, {.samples = 4, .gap_ns = gap});
            if (times[0].late) continue;  // the busy test machine
            EXPECT_GE(times[3].begin_ns - times[0].begin_ns, 3 * gap - gap / 16 - 1'000);
        }
    });
}

Measured measure_sleeps(World& world, Protocol protocol,
                        const std::function<std::chrono::milliseconds(long call)>& time) {
    long calls = 0;
    Doing sleeps([&] { std::this_thread::sleep_for(time(calls++)); });
    std::vector<Trial> trials{{.operation = &sleeps, .prepare = {}, .count_wrong = {}}};
    protocol.sync = Protocol::Sync::barrier;
    protocol.warm_up_calls = 0;
    protocol.target_ci = 1e9;  // the least number of samples is enough
    protocol.max_seconds = 1e9;
    return measure(world, trials, protocol).at(0);
}

// Each call is longer than a batch. The first call of all is no sample, then there are three of 40
// ms among some 20 of 2 ms.
TEST(Samples, OfTheWarmUpAreTakenOutUnlessTheirNumberIsFixed) {
    on_ranks([](World& world) {
        const auto slow_first = [](long call) {
            return std::chrono::milliseconds(call < 4 ? 40 : 2);
        };
        const Measured measured = measure_sleeps(world, {.min_samples = 20}, slow_first);
        EXPECT_GE(measured.n_warm,
                  1 + 1);  // until three of the next five are not among the slow ones
        EXPECT_EQ(measured.n_warm + std::ssize(measured.samples), 1 + 21);
        const Measured fixed = measure_sleeps(world, {.fixed_samples = 20}, slow_first);
        EXPECT_EQ(fixed.n_warm, 1);
        EXPECT_EQ(fixed.samples.size(), 20U);
        EXPECT_GE(fixed.samples[0], 40'000'000);
    });
}

TEST(Samples, AreAtLeastAsManyAsAskedFor) {
    for (const std::int64_t least : {6, 33})
        on_ranks([&](World& world) {
            const Measured measured = measure_sleeps(
                world, {.min_samples = least}, [](long) { return std::chrono::milliseconds(2); });
            EXPECT_EQ(measured.stop_reason, "target_ci");
            // And the checked one at the end.
            EXPECT_EQ(measured.n_warm - 1 + std::ssize(measured.samples), least + 1);
        });
}

}  // namespace
}  // namespace tutti
