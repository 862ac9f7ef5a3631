// SPDX-License-Identifier: Apache-2.0
// Schedules that name an invalid rank, chunk or step are refused wherever they are
// read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/algorithms/catalog.hpp"
#include "collectives/schedule/compose.hpp"
#include "collectives/schedule/count.hpp"
#include "collectives/schedule/fingerprint.hpp"
#include "collectives/schedule/print.hpp"
#include "collectives/schedule/verify.hpp"
#include "tests/base/messages.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Two ranks and two chunks; the transfer is in step 1.
Schedule with(const Transfer& transfer) {
    return Schedule({.ranks = 2, .chunks = 2, .steps = 3}, [=](int now, Step& step) {
        if (now == 1) step.copy(transfer);
    });
}

void visit_all(const Schedule& schedule, std::optional<Rank> only = std::nullopt) {
    for (int step = 0; step < schedule.steps(); ++step)
        schedule.visit(
            step, [](const Transfer&) {}, only);
}

constexpr int most = std::numeric_limits<int>::max();

const Transfer outside[] = {
    {.chunks = {0, 1}, .from = {-1}, .to = {0}},      {.chunks = {0, 1}, .from = {0}, .to = {-1}},
    {.chunks = {0, 1}, .from = {2}, .to = {0}},       {.chunks = {0, 1}, .from = {0}, .to = {2}},
    {.chunks = {-1, 1}, .from = {0}, .to = {1}},      {.chunks = {2, 1}, .from = {0}, .to = {1}},
    {.chunks = {1, 2}, .from = {0}, .to = {1}},       {.chunks = {0, -1}, .from = {0}, .to = {1}},
    {.chunks = {1, most / 6}, .from = {0}, .to = {1}}};

TEST(Outside, IsRefusedByEveryReaderOfASchedule) {
    const CollectiveSpec spec{Collective::broadcast, 2};
    for (const Transfer& transfer : outside) {
        const Schedule schedule = with(transfer);
        for (const std::function<void()>& read : std::initializer_list<std::function<void()>>{
                 [&] { visit_all(schedule); }, [&] { count(schedule, spec); },
                 [&] { in_words(schedule); }, [&] { to_json(schedule); },
                 [&] { fingerprint(schedule); }, [&] { visit_all(schedule.finer(3)); },
                 [&] { visit_all(with({.chunks = {}, .from = {0}, .to = {1}}).then(schedule)); },
                 [&] { visit_all(pipelined(schedule, 2)); },
                 [&] { visit_all(mirrored(schedule, Action::copy)); },
                 [&] {
                     visit_all(reordered(schedule, {{1}, {0}}, Collective::broadcast));
                 },
                 [&] {
                     visit_all(side_by_side({schedule, schedule}, 1));
                 },
                 [&] {
                     visit_all(
                         on_each(4, 1, {{.members = {{2}, {3}}}}, [&](int) { return schedule; }));
                 }})
            EXPECT_THAT(refusal_by(read), AllOf(HasSubstr("step "), HasSubstr("invalid transfer")));
    }
}

TEST(Outside, IsRefusedOnTheRankThatTakesPart) {
    const Schedule schedule = with({.chunks = {0, 1}, .from = {0}, .to = {-1}});
    EXPECT_NE(refusal_by([&] { visit_all(schedule, Rank{0}); }), "");
    EXPECT_EQ(refusal_by([&] { visit_all(schedule, Rank{1}); }), "");
}

TEST(Outside, IsNamedWithItsStepAndWhatThereIs) {
    const Schedule schedule = with({.chunks = {1, 2}, .from = {0}, .to = {-1}});
    const std::string text = refusal_by([&] { visit_all(schedule); });
    for (const char* key : {"step 1", "to rank -1", "2 chunks", "ranks 0..1", "chunks 0..1"})
        EXPECT_THAT(text, HasSubstr(key));
    EXPECT_EQ(find_fault(schedule, CollectiveSpec{Collective::broadcast, 2}), text);
}

TEST(Outside, HasNoStepsNorExtents) {
    const Schedule schedule = with({.chunks = {}, .from = {0}, .to = {1}});
    for (const int step : {-1, 3})
        EXPECT_THAT(refusal_by([&] { schedule.visit(step, [](const Transfer&) {}); }),
                    HasSubstr("of 3 steps"));
    for (const Extent extent : {Extent{.ranks = 0}, Extent{.chunks = 0}, Extent{.steps = -1}})
        EXPECT_THAT(refusal_by([&] { Schedule(extent, [](int, Step&) {}); }),
                    HasSubstr("invalid schedule size"));
}

TEST(Outside, NoPlaceOfARingIs) {
    const Ring ring{5};
    for (int places = -12; places <= 12; ++places) {
        const Rank ahead = ring.ahead({3}, places);
        EXPECT_EQ(ahead.index, (3 + places + 15) % 5) << places;
        EXPECT_EQ(ring.behind({3}, -places), ahead) << places;
    }
}

}  // namespace
}  // namespace tutti
