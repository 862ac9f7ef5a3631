// SPDX-License-Identifier: Apache-2.0
#include "workloads/bench/sweep.hpp"

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "collectives/device/accelerator.hpp"
#include "results/bandwidth.hpp"
#include "workloads/bench/candidates.hpp"
#include "workloads/limits/least_time.hpp"
#include "workloads/timing/done_by_all.hpp"
#include "workloads/timing/turns.hpp"

namespace tutti {
namespace {

// What identifies a point, without the candidate: all candidates are compared there.
struct CommonPoint {
    Call call;
    bool in_place;
    BufferKind kind;
};

// Stores the same values again, so that the lines are in the owner's cache alone, and modified.
void rewrite(std::span<std::byte> input) {
    constexpr std::size_t line = 64;
    const auto store = [&](std::size_t at) {
        volatile std::byte& byte = input[at];
        byte = byte;
    };
    for (std::size_t at = 0; at < input.size(); at += line) store(at);
    if (!input.empty()) store(input.size() - 1);  // where input does not begin with a line
}

std::vector<std::int64_t> counts_of(const Sweep& sweep, DataType type, int ranks) {
    if (!sweep.counts.empty()) return sweep.counts;
    std::vector<std::int64_t> counts;
    for (const Bytes size : sweep.sizes)
        counts.push_back(count_for(sweep.collective, type, ranks, size));
    counts.erase(std::unique(counts.begin(), counts.end()),
                 counts.end());  // rounded up to the same
    return counts;
}

// Size by size, as the table shows them.
std::vector<Call> calls_of(const Sweep& sweep, int ranks) {
    const std::vector<Op> no_op{Op::sum};
    const std::vector<Rank> no_root{Rank{0}};
    std::vector<Call> calls;
    for (const DataType type : sweep.types)
        for (const Op op : reduces(sweep.collective) ? sweep.ops : no_op)
            for (const Rank root : has_root(sweep.collective) ? sweep.roots : no_root)
                for (const std::int64_t count : counts_of(sweep, type, ranks))
                    calls.push_back({sweep.collective, type, op, root, count});
    return calls;
}

std::string in_key(BufferKind kind) {
    switch (kind) {
        case BufferKind::registered:
            return "registered";
        case BufferKind::device:
            return "cuda";
        case BufferKind::pinned:
            return "pinned";
        default:
            return "host";
    }
}

double to_tenths(double number) { return std::round(number * 10) / 10; }

class SweepRun {
public:
    SweepRun(Planner& planner, const Sweep& sweep, const SweepEvents& events)
        : planner_(planner), world_(planner.world()), sweep_(sweep), events_(events) {}

    void run() {
        const std::vector<Call> calls = calls_of(sweep_, world_.size());
        std::size_t most = 0;
        for (const Call& call : calls)
            for (const bool in_place : sweep_.in_place)
                most = std::max(most, BufferPool::bytes_for(call, world_.size(), in_place));
        BufferPool pool(world_, most, kinds(), device_buffers(planner_, transports()));
        points_left_ = calls.size() * sweep_.in_place.size() * pool.kinds().size();
        for (const Call& call : calls) {
            if (auto points = known_of(call); from_rank0(world_, !points.empty())) {
                done_by_all(world_, [&] { events_.known_point(points); });
                number_ += sweep_.in_place.size() * pool.kinds().size();
                points_left_ -= sweep_.in_place.size() * pool.kinds().size();
                continue;
            }
            std::vector<Point> points;
            for (const BufferKind kind : pool.kinds())
                for (const bool in_place : sweep_.in_place) {
                    done_by_all(world_, [&] { events_.before_point(title_of(call)); });
                    measure_candidates(pool, {call, in_place, kind}, points);
                }
            done_by_all(world_, [&] { events_.after_point(points); });
        }
    }

private:
    // What an interrupted run has measured of a call: all of it, or nothing.
    std::vector<Point> known_of(const Call& call) const {
        std::vector<Point> points;
        for (const Point& point : sweep_.known)
            if (point.key.coll == call.collective && point.key.dtype == call.type &&
                (!point.key.op || *point.key.op == call.op) &&
                (!point.key.root || *point.key.root == call.root) && point.key.count == call.count)
                points.push_back(point);
        const std::size_t kinds = std::max<std::size_t>(sweep_.buffers.size(), 1);
        if (points.size() != sweep_.candidates.size() * sweep_.in_place.size() * kinds) return {};
        return points;
    }

    std::vector<std::string> transports() const {
        std::vector<std::string> names;
        for (const Candidate& candidate : sweep_.candidates)
            if (candidate.is_ours()) names.push_back(candidate.configuration.transport);
        return names;
    }

    static bool is_of_devices(const Candidate& candidate) {
        if (candidate.baseline != nullptr) return candidate.baseline->takes_device;
        if (!candidate.is_ours()) return false;
        const TransportRow& row = find_transport(candidate.configuration.transport);
        return row.on_device || row.between_devices;
    }

    // By default memory of devices if all of our candidates run on devices; if there are none of
    // ours, if all libraries take it.
    std::vector<BufferKind> kinds() const {
        if (!sweep_.buffers.empty()) return sweep_.buffers;
        const bool are_baselines_all = std::ranges::all_of(
            sweep_.candidates,
            [](const Candidate& candidate) { return candidate.baseline != nullptr; });
        const bool all_of_devices =
            std::ranges::all_of(sweep_.candidates, [&](const Candidate& candidate) {
                return is_of_devices(candidate) ||
                       (candidate.baseline != nullptr && !are_baselines_all);
            });
        if (!sweep_.candidates.empty() && all_of_devices) return {BufferKind::device};
        return {};
    }

    static std::string title_of(const Call& call) {
        return std::string(name_of(call.collective)) + " " + std::to_string(call.count) + " " +
               std::string(name_of(call.type));
    }

    void measure_candidates(BufferPool& pool, const CommonPoint& common,
                            std::vector<Point>& points) {
        const PooledBuffers buffers = pool.buffers_for(common.call, common.in_place, common.kind);
        std::vector<ChosenOperation> operations;
        std::vector<Trial> trials;
        std::vector<std::size_t> point_of;  // by trial
        for (const Candidate& candidate : sweep_.candidates) {
            Point& point = points.emplace_back(blank_point(candidate, common));
            point.skipped = reason_to_skip(candidate, common, buffers);
            if (point.skipped) continue;
            done_by_all(world_, [&] {
                operations.push_back(
                    operation_of(planner_, candidate, common.call, buffers, sweep_.environment));
            });
            trials.push_back(trial_at(*operations.back().operation, common, buffers));
            trials.back().calls_of_run = calls_of_run(candidate);
            point_of.push_back(points.size() - 1);
        }
        if (sweep_.turns != nullptr) {
            measure_by_turns(trials, operations, points);
            return;
        }
        Protocol protocol = sweep_.protocol;
        protocol.seed += ++number_;
        protocol.max_seconds = seconds_for(trials.size());
        const auto measured = measure(world_, trials, protocol);
        for (std::size_t i = 0; i < measured.size(); ++i) {
            Point& point = points[point_of[i]];
            if (measured[i].samples.empty() && measured[i].check.state != CheckState::fail)
                point.skipped = "no call began on time on all ranks; type --sync barrier";
            else
                fill(point, measured[i]);
            if (operations[i].operation->left_over()) ++point.measured.check.n_wrong;
            if (operations[i].choice) point.choice = operations[i].choice();
        }
        agree_on_failures(points);
    }

    // Beside another job's trials; the points have no times.
    void measure_by_turns(std::vector<Trial>& trials, std::vector<ChosenOperation>& operations,
                          std::vector<Point>& points) {
        Turns& turns = *sweep_.turns;
        Protocol protocol = sweep_.protocol;
        protocol.seed += ++number_;
        std::size_t next = 0;
        for (std::size_t i = points.size() - sweep_.candidates.size(); i < points.size(); ++i) {
            Point& point = points[i];
            const std::string call = call_in_words(point.key);
            const std::string candidate = candidate_in_words(point.key);
            const std::int64_t number = trial_number_++;
            if (point.skipped) {
                turns.skipped(number, call, candidate, *point.skipped);
                continue;
            }
            const std::size_t trial = next++;
            if (turns.ready(number, call, candidate) == Turn::skip) continue;
            point.measured = measure_in_turns(world_, trials[trial], protocol, turns);
            std::vector<Point> alone{point};
            if (operations[trial].operation->left_over()) ++alone[0].measured.check.n_wrong;
            agree_on_failures(alone);
            turns.ended(alone[0].measured.check.n_wrong);
        }
    }

    std::int64_t calls_of_run(const Candidate& candidate) const {
        return candidate.is_ours() ? planner_.runs_of_call(candidate.configuration.transport) : 1;
    }

    // The same on all ranks where rank 0 has one. Where only another rank has one, all throw it:
    // rank 0's table must not report the point as skipped.
    std::optional<std::string> reason_to_skip(const Candidate& candidate, const CommonPoint& common,
                                              const PooledBuffers& buffers) {
        auto reason = refusal(planner_, candidate, common.call, buffers, sweep_.environment.hosts);
        if (!reason && planner_.runs_on_devices() > 1) {
            if (calls_of_run(candidate) == 1)
                reason = "one launch does one call there; take -G away";
            else if (common.in_place)
                reason = "in place each run of a graph takes what the one before left";
        }
        if (!from_rank0(world_, !reason)) return reason ? reason : "rank 0 cannot run it";
        done_by_all(world_, [&] {
            if (reason) throw Error("rank 0 can run it, but here: " + *reason);
        });
        return std::nullopt;
    }

    // An equal share of what is left of the budget; half of it, as set-up and checks take time too.
    double seconds_for(std::size_t trials) {
        const double trials_left =
            static_cast<double>(points_left_-- * std::max<std::size_t>(trials, 1));
        if (sweep_.budget_seconds == 0) return sweep_.protocol.max_seconds;
        const double spent = seconds_since(began_ns_);
        const double share = std::max(sweep_.budget_seconds - spent, 0.0) / trials_left / 2;
        return std::min(sweep_.protocol.max_seconds, from_rank0(world_, share));
    }

    Trial trial_at(Operation& operation, const CommonPoint& common, const PooledBuffers& buffers) {
        Trial trial = trial_of(operation, world_, common.call, buffers, sweep_.check);
        if (sweep_.input == InputState::rewritten) {
            if (buffers.registered != nullptr && buffers.registered->device() != nullptr)
                throw Error("the host does not rewrite buffers on devices; type --input untouched");
            trial.before_call = [input = buffers.writable_input] { rewrite(input); };
        }
        return trial;
    }

    Point blank_point(const Candidate& candidate, const CommonPoint& common) const {
        const Call& call = common.call;
        Point point;
        Key& key = point.key;
        key.coll = call.collective;
        key.configuration = candidate.configuration;
        if (candidate.is_ours() && candidate.row->pipelines &&
            candidate.configuration.segment == Bytes{})
            key.configuration.segment = sweep_.environment.default_segment;
        key.dtype = call.type;
        if (reduces(call.collective)) key.op = call.op;
        if (has_root(call.collective)) key.root = call.root;
        key.count = call.count;
        key.bytes = {total_bytes(call, world_.size())};
        key.inplace = common.in_place;
        key.buf = in_key(common.kind);
        if (sweep_.input == InputState::rewritten) key.input = "rewritten";
        key.nranks = world_.size();
        key.ppn = static_cast<int>(world_.hosts().nodes().front().size());
        key.placement = placement_in_words(candidate);
        if (sweep_.predict && !common.in_place)
            if (const auto ns = sweep_.predict(candidate, call, common.kind))
                point.predicted_ns = to_tenths(*ns);
        return point;
    }

    std::string placement_in_words(const Candidate& candidate) const {
        std::string words;
        if (candidate.is_ours() && planner_.is_virtual(candidate.configuration.transport))
            words = std::string(virtual_ranks);
        if (sweep_.ranks_per_node > 0) words = "nodes of " + std::to_string(sweep_.ranks_per_node);
        if (sweep_.ranks_per_island > 0)
            words += (words.empty() ? "islands of " : ", islands of ") +
                     std::to_string(sweep_.ranks_per_island);
        return words;
    }

    void fill(Point& point, const Measured& measured) const {
        point.measured = measured;
        point.time = summarise(measured.samples);
        point.bandwidth = bandwidth(point.key.coll, point.key.nranks, point.key.bytes,
                                    static_cast<double>(point.time.p50));
        // Back to back, calls with a root overlap: the least time of one call is no bound.
        const bool runs_ahead = has_root(point.key.coll) && measured.calls_of_sample > 1;
        // Limits are known of the host only.
        const std::string& transport = point.key.configuration.transport;
        const bool is_on_host =
            point.key.buf != "cuda" && (transport.empty() || !find_transport(transport).on_device);
        if (sweep_.limits && is_on_host && !runs_ahead) compare(point, *sweep_.limits);
    }

    void compare(Point& point, const Limits& limits) const {
        const Key& key = point.key;
        const Call call{key.coll, key.dtype, Op::sum, key.root.value_or(Rank{0}), key.count};
        const Reach reach = key.buf == "registered" ? Reach::registered : Reach::unregistered;
        const double least = least_time(limits, call, world_.hosts(), key.inplace, reach);
        if (least == 0) return;
        point.limit_ns = to_tenths(least);
        if (point.time.p50 > 0)
            point.pct_of_limit = to_tenths(100 * least / static_cast<double>(point.time.p50));
    }

    // A message that nobody received is visible on the receiving rank only.
    void agree_on_failures(std::vector<Point>& points) {
        for (Point& point : points) {
            if (point.skipped) continue;
            Check& check = point.measured.check;
            const auto counts = gather_all(world_, check.n_wrong);
            check.n_wrong = *std::max_element(counts.begin(), counts.end());
            if (check.n_wrong > 0) check.state = CheckState::fail;
        }
    }

    Planner& planner_;
    World& world_;
    const Sweep& sweep_;
    const SweepEvents& events_;
    std::int64_t began_ns_ = now_ns();
    std::size_t points_left_ = 0;
    std::uint64_t number_ = 0;       // of the point, from 1
    std::int64_t trial_number_ = 0;  // of all trials, those that are skipped included
};

}  // namespace

std::size_t points_of(const Sweep& sweep, int ranks) { return calls_of(sweep, ranks).size(); }

void run_sweep(Planner& planner, const Sweep& sweep, const SweepEvents& events) {
    SweepRun(planner, sweep, events).run();
}

}  // namespace tutti
