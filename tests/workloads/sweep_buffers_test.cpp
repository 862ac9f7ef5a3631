// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <span>
#include <string>

#include "tests/base/messages.hpp"
#include "tests/workloads/sweeps.hpp"
#include "workloads/bench/sweep_points.hpp"

namespace tutti {
namespace {

TEST(Sweep, MeasuresInEachKindOfBuffers) {
    Sweep sweep =
        sweep_of(Collective::all_reduce,
                 {.algorithms = {"ring"}, .transports = {"loopback", "shm"}, .baselines = {}});
    sweep.in_place = {false, true};
    const auto kinds_of = [&](std::vector<BufferKind> buffers) {
        sweep.buffers = std::move(buffers);
        std::vector<std::string> kinds;
        const auto points = points_of_run(sweep, 2);
        for (const Point& point : points.at(0)) {
            EXPECT_EQ(point.measured.check.state, CheckState::ok) << point.key.buf;
            kinds.push_back(point.key.buf);
        }
        return kinds;
    };
    const std::vector<std::string> registered(4, "registered"), unregistered(4, "host");
    std::vector<std::string> both = unregistered;
    both.insert(both.end(), registered.begin(), registered.end());
    EXPECT_EQ(kinds_of({}), registered);  // threads can share memory
    EXPECT_EQ(kinds_of({BufferKind::registered}), registered);
    EXPECT_EQ(kinds_of({BufferKind::unregistered}), unregistered);
    EXPECT_EQ(kinds_of({BufferKind::unregistered, BufferKind::registered}), both);
}

TEST(BuffersOnDevices, AreTakenWhereOnlyDevicesTakePart) {
    const SearchSpace search_space{
        .algorithms = {"ring", "one-shot"}, .transports = {"cuda-emulated"}, .baselines = {"none"}};
    Sweep sweep = sweep_of(Collective::all_reduce, search_space);
    sweep.counts = {10, 3000};
    sweep.in_place = {false, true};
    const auto all = points_of_run(sweep, 3);
    ASSERT_EQ(all.size(), 2u);
    for (const auto& points : all) {
        ASSERT_EQ(points.size(), 4u);
        for (const Point& point : points) {
            ASSERT_FALSE(point.skipped) << *point.skipped;
            EXPECT_EQ(point.measured.check.state, CheckState::ok);
            EXPECT_EQ(point.key.buf, "cuda");
            EXPECT_TRUE(is_virtual(point.key));
        }
    }
}

// shm stages them; shm-direct would have the host read them.
TEST(BuffersOnDevices, AreRefusedByThoseWhoCannotReachThem) {
    const SearchSpace search_space{.algorithms = {"ring"},
                                   .transports = {"shm", "shm-direct", "loopback", "cuda-emulated"},
                                   .baselines = {"none"}};
    Sweep sweep = sweep_of(Collective::all_reduce, search_space);
    sweep.buffers = {BufferKind::device};
    const auto all = points_of_run(sweep, 2);
    ASSERT_EQ(all.size(), 1u);
    ASSERT_EQ(all[0].size(), 4u);
    for (const Point& point : all[0]) {
        EXPECT_EQ(point.skipped.has_value(), point.key.configuration.transport == "shm-direct");
        if (point.skipped) continue;
        EXPECT_EQ(point.measured.check.state, CheckState::ok);
        EXPECT_EQ(point.key.buf, "cuda");
    }
}

TEST(PinnedBuffers, AreOrdinaryForTheHostAndCopiedToTheDeviceAndBack) {
    const SearchSpace search_space{.algorithms = {"ring"},
                                   .transports = {"shm", "loopback", "cuda-emulated"},
                                   .baselines = {"none"}};
    Sweep sweep = sweep_of(Collective::all_reduce, search_space);
    sweep.buffers = {BufferKind::pinned, BufferKind::device};
    sweep.in_place = {false, true};
    const auto all = points_of_run(sweep, 2);
    ASSERT_EQ(all.size(), 1u);
    ASSERT_EQ(all[0].size(), 12u);
    for (std::size_t i = 0; i < 12; ++i) {
        const Point& point = all[0][i];
        ASSERT_FALSE(point.skipped) << *point.skipped;
        EXPECT_EQ(point.measured.check.state, CheckState::ok);
        EXPECT_EQ(point.key.buf, i < 6 ? "pinned" : "cuda");
    }
}

TEST(Buffers, ThatNeedADeviceAreRefusedWhereNothingMakesThem) {
    const auto world = world_of_one();
    for (const BufferKind kind : {BufferKind::device, BufferKind::pinned}) {
        const auto make = [&] { const BufferPool pool(*world, 100, std::span(&kind, 1)); };
        EXPECT_TRUE(holds(thrown_by(make).text, std::string(name_of(kind))));
    }
}

TEST(BuffersOnTheHost, AreCopiedToTheDeviceAndBack) {
    const SearchSpace search_space{
        .algorithms = {"ring"}, .transports = {"shm", "cuda-emulated"}, .baselines = {"none"}};
    Sweep sweep = sweep_of(Collective::all_reduce, search_space);
    sweep.buffers = {BufferKind::registered, BufferKind::unregistered};
    const auto all = points_of_run(sweep, 2);
    ASSERT_EQ(all.size(), 1u);
    ASSERT_EQ(all[0].size(), 4u);
    for (const Point& point : all[0]) {
        ASSERT_FALSE(point.skipped) << *point.skipped;
        EXPECT_EQ(point.measured.check.state, CheckState::ok);
        EXPECT_NE(point.key.buf, "cuda");
    }
}

}  // namespace
}  // namespace tutti
