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
            for (const BufferKind kind : pool.kinds()) {
                const auto first = static_cast<std::ptrdiff_t>(points.size());
                for (const bool in_place : sweep_.in_place) {
                    done_by_all(world_, [&] { events_.before_point(title_of(swept)); });
                    measure_candidates(pool, {swept, in_place, kind}, points);
                }
                std::stable_sort(points.begin() + first, points.end(),
                                 [](const Point& one, const Point& other) {
                                     return one.key.aggressor < other.key.aggressor;
                                 });
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
        if (points.size() !=
            sweep_.candidates.size() * conditions() * sweep_.in_place.size() * kinds)
            return {};
        return points;
    }

    static std::string title_of(const SweptCall& swept) {
        return name_of(CollectiveForm{swept.call.collective, !swept.blocks.empty()}) + " " +
               std::to_string(swept.count) + " " + std::string(name_of(swept.call.type));
    }

    // Without, and with each disturbance.
    std::size_t conditions() const { return 1 + sweep_.disturbances.size(); }

    // A candidate with all that its trials need.
    struct Prepared {
        const Candidate& candidate;
        Point blank;  // or why it is skipped
        ChosenOperation chosen = {};
        Trial trial = {};
    };

    Prepared prepared(const Candidate& candidate, const CommonPoint& common,
                      const PooledBuffers& buffers) const {
        Prepared one{candidate, points_.blank_point(candidate, common)};
        one.blank.skipped = points_.reason_to_skip(candidate, common, buffers);
        if (one.blank.skipped) return one;
        CandidateTrial made = points_.trial_at(candidate, common, buffers);
        one.chosen = std::move(made.chosen);
        one.trial = std::move(made.trial);
        return one;
    }

    void measure_candidates(const BufferPool& pool, const CommonPoint& common,
                            std::vector<Point>& points) {
        const PooledBuffers buffers =
            pool.buffers_for(common.swept.call, common.in_place, common.kind);
        std::vector<Prepared> candidates;
        for (const Candidate& candidate : sweep_.candidates)
            candidates.push_back(prepared(candidate, common, buffers));
        std::vector<Trial> trials;
        std::vector<std::pair<std::size_t, const Prepared*>> of_trial;  // its point and candidate
        for (std::size_t condition = 0; condition < conditions(); ++condition) {
            const Disturbance* disturbance =
                condition == 0 ? nullptr : &sweep_.disturbances[condition - 1];
            for (const Prepared& one : candidates) {
                Point& point = points.emplace_back(one.blank);
                if (disturbance != nullptr) {
                    point.key.aggressor = disturbance->name;
                    point.predicted_ns.reset();  // models predict quiet hosts
                }
                if (point.skipped) continue;
                trials.push_back(one.trial);
                trials.back().disturbance = disturbance;
                of_trial.emplace_back(points.size() - 1, &one);
            }
        }
        Protocol protocol = sweep_.protocol;
        protocol.seed += ++number_;
        protocol.max_seconds = seconds_for(trials.size());
        const auto measured = measure(world_, trials, protocol);
        for (std::size_t i = 0; i < measured.size(); ++i) {
            const auto& [place, one] = of_trial[i];
            Point& point = points[place];
            Operation& operation = *one->chosen.operation;
            const bool failed = measured[i].check.state == CheckState::fail;
            const bool has_samples = !measured[i].samples.empty();
            if (has_samples || failed)
                points_.fill(point, measured[i]);
            else
                point.skipped = "no call began on time on all ranks; use --sync barrier";
            if (trials[i].disturbance == nullptr) {  // the aggressor is stopped now
                if (true_on_all_ranks(world_, has_samples && !failed))
                    point.levels = points_.levels_of(operation, common.swept.call,
                                                     trials[i].before_call, point.time.p50);
                events_.after_candidate({.candidate = one->candidate,
                                         .key = point.key,
                                         .call = common.swept.call,
                                         .buffers = buffers,
                                         .operation = operation});
            }
            if (operation.left_over()) ++point.measured.check.n_wrong;
            if (one->chosen.choice) point.choice = one->chosen.choice();
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
