// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/tuner.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "autotune/choice/subject.hpp"
#include "autotune/tuner/hold_out.hpp"
#include "autotune/tuner/tasks.hpp"
#include "collectives/world/world.hpp"

namespace tutti {
namespace {

// The results on rank 0.
struct Reported {
    std::vector<double> done;
    std::vector<std::string> now;
    std::vector<Section> drafts, sections;
};

Reported tuned(const TuneRequest& asked) {
    Reported returned;
    run_as_threads(2, 20, [&](World& world) {
        Planner planner(world);
        TuneRequest request = asked;
        request.environment = {.ranks = world.size(), .hosts = world.hosts()};
        TuneEvents events;
        const bool listens = world.is_first();
        events.progress = [&](const Subject&, double done, const std::string& now) {
            if (!listens) return;
            returned.done.push_back(done);
            returned.now.push_back(now);
        };
        events.raced = [](const RaceLog::Entry&) {};
        events.under_way = [&](const Section& section) {
            if (listens) returned.drafts.push_back(section);
        };
        events.section = [&](const Section& section) {
            if (listens) returned.sections.push_back(section);
        };
        events.cost = [](const Subject&, const TuneCost&) {};
        events.wrong = [](const Subject&, const Configuration&) { FAIL() << "a wrong result"; };
        tune(planner, request, job_shape_of(world), "session", {}, {}, events);
    });
    return returned;
}

TuneRequest small_request() {
    TuneRequest request;
    request.collectives = {Collective::all_gather};
    request.buffers = {BufferKind::unregistered};
    request.sizes = {Bytes{8}, Bytes{128}, Bytes{2048}};
    request.search_space.algorithms = {"ring", "linear"};
    request.search_space.transports = {"loopback"};
    request.search_space.baselines = {"none"};
    request.protocol.sync = Protocol::Sync::barrier;
    request.holds_out = false;
    return request;
}

// Three variants on two ranks, so that a rank has one more than the other.
TEST(Tuner, SharesPredictionsAmongTheRanks) {
    run_as_threads(2, 20, [](World& world) {
        Planner planner(world);
        const std::vector kinds{BufferKind::unregistered};
        const BufferPool pool(world, 4096, kinds, {});
        TuneRequest request = small_request();
        request.search_space.algorithms = {"ring", "linear", "bruck"};
        const auto variants = variants_of(candidates(Collective::all_gather, request.search_space));
        ASSERT_EQ(variants.size(), 3u);
        const MeasuringEvaluator::Race race{.subject = {Collective::all_gather}};
        int asked = 0;
        const auto predict = [&](const Configuration& configuration,
                                 const Call& call) -> std::optional<double> {
            ++asked;
            if (configuration.algorithm == "linear") return std::nullopt;
            return static_cast<double>(call.count) + (configuration.algorithm == "ring" ? .5 : .25);
        };
        const MeasuringEvaluator evaluator(planner, pool, race, variants, predict,
                                           [] { return false; });
        for (int again = 0; again < 2; ++again)
            for (const std::int64_t bytes : {64, 128})
                for (int arm = 0; arm < 3; ++arm) {
                    const auto& configuration = at(variants, arm).candidate.configuration;
                    const int before = asked;
                    const auto expected = predict(configuration, call_of(race, 2, Bytes{bytes}));
                    asked = before;
                    EXPECT_EQ(evaluator.predicted_ns(arm, Bytes{bytes}), expected)
                        << configuration.algorithm;
                }
        EXPECT_EQ(asked, world.is_first() ? 4 : 2);
    });
}

TEST(Tuner, BeginsWithTheSubjectsThatHaveTheFewestCandidates) {
    TuneRequest request = small_request();
    request.collectives = {Collective::all_reduce, Collective::scatter, Collective::all_gather};
    request.search_space.algorithms = {"all"};
    const std::vector kinds{BufferKind::unregistered};
    std::vector<Collective> order;
    double most = 0;
    for (const auto& [task, work] :
         shortest_first(tasks_of(request, kinds), request.search_space)) {
        order.push_back(task.subject.collective);
        EXPECT_GE(work, most);
        most = work;
    }
    const std::vector expected{Collective::scatter, Collective::all_gather, Collective::all_reduce};
    EXPECT_EQ(order, expected);
}

// Over a device's own transport and by messages; host memory is another subject.
TEST(Tuner, RacesOnTheMemoryOfDevicesAndInPinnedMemory) {
    TuneRequest request = small_request();
    request.collectives = {Collective::all_reduce};
    request.buffers = {BufferKind::device, BufferKind::pinned};
    request.search_space.transports = {"cuda-emulated", "shm", "shm-direct"};
    request.search_space.algorithms = {"ring"};
    request.repetitions_of_all = 2;
    const Reported returned = tuned(request);
    ASSERT_EQ(returned.sections.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        const Section& section = returned.sections[i];
        EXPECT_EQ(section.subject.buffers, request.buffers[i]);
        EXPECT_TRUE(section.is_complete);
        ASSERT_FALSE(section.ranges.empty());
        for (const Range& range : section.ranges) {
            EXPECT_EQ(range.origin, Origin::measured);
            // The host's own way cannot run on a device.
            if (i == 0) {
                EXPECT_NE(range.choice.transport, "shm-direct");
            }
        }
    }
}

TEST(Tuner, ReportsHowFarItIsInEachPartOfTheWork) {
    TuneRequest request = small_request();
    for (int TuneRequest::*repetitions :
         {&TuneRequest::repetitions_of_all, &TuneRequest::repetitions_of_evaluation}) {
        request.repetitions_of_all = request.repetitions_of_evaluation = 0;
        request.*repetitions = 2;
        const Reported returned = tuned(request);
        EXPECT_TRUE(std::ranges::is_sorted(returned.done));
        EXPECT_GT(returned.done.size(), request.sizes.size());
        EXPECT_NEAR(returned.done.back(), 1, 1e-9);
        const bool is_evaluated = repetitions == &TuneRequest::repetitions_of_evaluation;
        EXPECT_EQ(std::ranges::count(returned.now, "evaluated by every variant"),
                  is_evaluated ? 6 : 0);
    }
}

TEST(Tuner, ReportsWhatASubjectHasShownBeforeItsSearchEnds) {
    const Reported returned = tuned(small_request());
    ASSERT_FALSE(returned.drafts.empty());
    const Section& draft = returned.drafts.front();
    EXPECT_FALSE(draft.is_complete);
    ASSERT_FALSE(draft.ranges.empty());
    EXPECT_EQ(draft.ranges.front().from, Bytes{0});
    ASSERT_FALSE(draft.ranges.front().evidence.empty());
    EXPECT_GT(draft.ranges.front().evidence.front().time.n, 0);
    ASSERT_EQ(returned.sections.size(), 1u);
    EXPECT_TRUE(returned.sections.front().is_complete);
    EXPECT_EQ(returned.sections.front().subject, draft.subject);
}

// The choice and the library that it is held against, by their transports; over loopback each
// message takes 1 ms longer.
HoldOut compared(const char* choice, const char* library) {
    std::optional<HoldOut> seen;
    run_as_threads(2, 60, [&](World& world) {
        Planner planner(world, parse_fault("delay:ms=1"));
        const Subject subject{.collective = Collective::all_reduce,
                              .buffers = BufferKind::registered};
        const MeasuringEvaluator::Race race{subject,
                                            DataType::float32,
                                            Op::sum,
                                            {.ranks = world.size(), .hosts = world.hosts()},
                                            {.sync = Protocol::Sync::barrier}};
        const auto ring_over = [&](const char* transport) {
            return candidates(subject.collective,
                              {.algorithms = {"ring"}, .transports = {transport}, .baselines = {}})
                .front();
        };
        const Bytes size{4096};
        const BufferPool pool(
            world, BufferPool::bytes_for(call_of(race, world.size(), size), world.size(), false),
            std::vector{subject.buffers});
        const Candidate one = ring_over(choice), other = ring_over(library);
        const auto found =
            compare(planner, pool, race, {one, other}, size, {.pairs = 20, .seconds = 60});
        if (world.is_first()) seen = found.seen;
    });
    return seen.value();
}

TEST(HoldOut, EndsAsSoonAsTheChoiceIsFasterBeyondDoubt) {
    const HoldOut seen = compared("shm", "loopback");
    EXPECT_GT(seen.gain_low, 1);
    EXPECT_EQ(seen.choice.n, 20);
}

TEST(HoldOut, EndsAsSoonAsTheChoiceIsSlowerBeyondDoubt) {
    const HoldOut seen = compared("loopback", "shm");
    EXPECT_LT(seen.gain_high, 1);
    EXPECT_EQ(seen.choice.n, 20);
}

}  // namespace
}  // namespace tutti
