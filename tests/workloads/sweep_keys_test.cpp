// SPDX-License-Identifier: Apache-2.0
// The keys that a sweep records.
#include <gtest/gtest.h>

#include <set>

#include "workloads/bench/sweep.hpp"

namespace tutti {
namespace {

TEST(SweepKeys, NameTypeOperationRootAndPlaceOfEachPoint) {
    Sweep sweep;
    sweep.collective = Collective::reduce;
    sweep.candidates =
        candidates(sweep.collective,
                   {.algorithms = {"linear"}, .transports = {"loopback"}, .baselines = {"none"}});
    sweep.counts = {10};
    sweep.types = {DataType::int32, DataType::float64};
    sweep.ops = {Op::sum, Op::max};
    sweep.roots = {Rank{0}, Rank{1}};
    sweep.in_place = {false, true};
    sweep.protocol.fixed_samples = 2;
    sweep.protocol.warm_up_calls = 0;
    using Seen = std::tuple<DataType, std::optional<Op>, std::optional<Rank>, bool, std::int64_t>;
    std::set<Seen> seen, expected;
    for (const DataType type : sweep.types)
        for (const Op op : sweep.ops)
            for (const Rank root : sweep.roots)
                for (const bool in_place : sweep.in_place)
                    expected.insert({type, op, root, in_place, type == DataType::int32 ? 40 : 80});
    run_as_threads(2, 60, [&](World& world) {
        Planner planner(world);
        SweepEvents events;
        if (world.is_first())
            events.after_point = [&](const std::vector<Point>& points) {
                for (const Point& point : points)
                    seen.insert({point.key.dtype, point.key.op, point.key.root, point.key.inplace,
                                 point.key.bytes.count});
            };
        run_sweep(planner, sweep, events);
    });
    EXPECT_EQ(seen, expected);
}

// Where nothing is added up, or no rank is special, there is nothing to name.
TEST(SweepKeys, LeaveOutWhatACollectiveDoesNotHave) {
    for (const Collective collective : all_collectives()) {
        Sweep sweep;
        sweep.collective = collective;
        sweep.candidates = candidates(
            collective, {.algorithms = {std::string(algorithms_of(collective).front()->name)},
                         .transports = {"loopback"},
                         .baselines = {"none"}});
        sweep.counts = {10};
        sweep.protocol.fixed_samples = 1;
        sweep.protocol.warm_up_calls = 0;
        run_as_threads(2, 60, [&](World& world) {
            Planner planner(world);
            SweepEvents events;
            events.after_point = [&](const std::vector<Point>& points) {
                EXPECT_EQ(points.at(0).key.op.has_value(), reduces(collective));
                EXPECT_EQ(points.at(0).key.root.has_value(), has_root(collective));
            };
            run_sweep(planner, sweep, events);
        });
    }
}

class LeavesAMessage final : public Operation {
public:
    explicit LeavesAMessage(bool here) : here_(here) {}
    void run() override {}
    std::optional<std::string> left_over() const override {
        return here_ ? std::optional<std::string>("a message") : std::nullopt;
    }

private:
    bool here_;
};

// Only its receiver sees it, and all ranks tell it, the first one too, which writes the record.
TEST(SweepResults, FailWhereAMessageIsLeftOverOnAnyRank) {
    for (const int receiver : {0, 2, -1})
        run_as_threads(3, 60, [&](World& world) {
            Planner planner(world);
            Sweep sweep;
            Candidate candidate{.configuration = {.impl = "auto", .algorithm = "auto"}};
            candidate.chooser = [&](const Call&, const PooledBuffers&) {
                return ChosenOperation{
                    std::make_unique<LeavesAMessage>(world.rank().index == receiver)};
            };
            sweep.candidates = {candidate};
            sweep.counts = {10};
            sweep.check = false;
            sweep.protocol.fixed_samples = 2;
            sweep.protocol.warm_up_calls = 0;
            sweep.protocol.sync = Protocol::Sync::barrier;
            SweepEvents events;
            events.after_point = [&](const std::vector<Point>& points) {
                EXPECT_EQ(points.at(0).measured.check.state,
                          receiver < 0 ? CheckState::skipped : CheckState::fail);
            };
            run_sweep(planner, sweep, events);
        });
}

}  // namespace
}  // namespace tutti
