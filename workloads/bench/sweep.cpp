// SPDX-License-Identifier: Apache-2.0
#include "workloads/bench/sweep.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/collective_form.hpp"
#include "workloads/bench/sweep_points.hpp"
#include "workloads/timing/done_by_all.hpp"

namespace tutti {
namespace {

class SweepRun {
public:
    SweepRun(Planner& planner, const Sweep& sweep, const SweepEvents& events)
        : points_(planner, sweep), world_(planner.world()), sweep_(sweep), events_(events) {}

    void run() {
        const std::vector<SweptCall> calls = calls_of(sweep_, world_.size());
        const BufferPool pool = points_.pool_for(calls);
        points_left_ = calls.size() * sweep_.in_place.size() * pool.kinds().size();
        for (const SweptCall& swept : calls) {
            if (auto points = known_of(swept); from_rank0(world_, !points.empty())) {
                done_by_all(world_, [&] { events_.known_point(points); });
                number_ += sweep_.in_place.size() * pool.kinds().size();
                points_left_ -= sweep_.in_place.size() * pool.kinds().size();
                continue;
            }
            std::vector<Point> points;
            for (const BufferKind kind : pool.kinds())
                for (const bool in_place : sweep_.in_place) {
                    done_by_all(world_, [&] { events_.before_point(title_of(swept)); });
                    measure_candidates(pool, {swept, in_place, kind}, points);
                }
            done_by_all(world_, [&] { events_.after_point(points); });
        }
    }

private:
    // Returns what an interrupted run has measured of a call: all points, or none.
    std::vector<Point> known_of(const SweptCall& swept) const {
        const Call& call = swept.call;
        std::vector<Point> points;
        for (const Point& point : sweep_.known)
            if (point.key.coll == call.collective && point.key.dtype == call.type &&
                (!point.key.op || *point.key.op == call.op) &&
                (!point.key.root || *point.key.root == call.root) &&
                point.key.count == swept.count && point.key.blocks == swept.blocks)
                points.push_back(point);
        const std::size_t kinds = std::max<std::size_t>(sweep_.buffers.size(), 1);
        if (points.size() != sweep_.candidates.size() * sweep_.in_place.size() * kinds) return {};
        return points;
    }

    static std::string title_of(const SweptCall& swept) {
        return name_of(CollectiveForm{swept.call.collective, !swept.blocks.empty()}) + " " +
               std::to_string(swept.count) + " " + std::string(name_of(swept.call.type));
    }

    void measure_candidates(const BufferPool& pool, const CommonPoint& common,
                            std::vector<Point>& points) {
        const PooledBuffers buffers =
            pool.buffers_for(common.swept.call, common.in_place, common.kind);
        std::vector<ChosenOperation> operations;
        std::vector<Trial> trials;
        std::vector<std::size_t> point_of;  // by trial
        const std::size_t first = points.size();
        for (const Candidate& candidate : sweep_.candidates) {
            Point& point = points.emplace_back(points_.blank_point(candidate, common));
            point.skipped = points_.reason_to_skip(candidate, common, buffers);
            if (point.skipped) continue;
            CandidateTrial made = points_.trial_at(candidate, common, buffers);
            operations.push_back(std::move(made.chosen));
            trials.push_back(std::move(made.trial));
            point_of.push_back(points.size() - 1);
        }
        Protocol protocol = sweep_.protocol;
        protocol.seed += ++number_;
        protocol.max_seconds = seconds_for(trials.size());
        const auto measured = measure(world_, trials, protocol);
        for (std::size_t i = 0; i < measured.size(); ++i) {
            Point& point = points[point_of[i]];
            events_.after_candidate({.candidate = sweep_.candidates[point_of[i] - first],
                                     .key = point.key,
                                     .call = common.swept.call,
                                     .buffers = buffers,
                                     .operation = *operations[i].operation});
            if (measured[i].samples.empty() && measured[i].check.state != CheckState::fail)
                point.skipped = "no call began on time on all ranks; use --sync barrier";
            else
                points_.fill(point, measured[i]);
            if (operations[i].operation->left_over()) ++point.measured.check.n_wrong;
            if (operations[i].choice) point.choice = operations[i].choice();
        }
        points_.agree_on_failures(points);
    }

    // Returns an equal share of half of the remaining budget; setup and checks take the other half.
    double seconds_for(std::size_t trials) {
        const double trials_left =
            static_cast<double>(points_left_-- * std::max<std::size_t>(trials, 1));
        if (sweep_.budget_seconds == 0) return sweep_.protocol.max_seconds;
        const double spent = seconds_since(began_ns_);
        const double share = std::max(sweep_.budget_seconds - spent, 0.0) / trials_left / 2;
        return std::min(sweep_.protocol.max_seconds, from_rank0(world_, share));
    }

    const SweepPoints points_;
    World& world_;
    const Sweep& sweep_;
    const SweepEvents& events_;
    std::int64_t began_ns_ = now_ns();
    std::size_t points_left_ = 0;
    std::uint64_t number_ = 0;  // number of the point, from 1
};

}  // namespace

void run_sweep(Planner& planner, const Sweep& sweep, const SweepEvents& events) {
    SweepRun(planner, sweep, events).run();
}

}  // namespace tutti
