// SPDX-License-Identifier: Apache-2.0
#include "workloads/bench/sweep.hpp"

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "collectives/device/accelerator.hpp"
#include "results/bandwidth.hpp"
#include "workloads/bench/device_buffers.hpp"
#include "workloads/bench/trials.hpp"
#include "workloads/limits/least_time.hpp"

namespace tutti {
namespace {

// What is measured together: everything but the candidate.
struct Spot {
    Call call;
    bool in_place;
};

// The same values, but from here on in the owner's cache alone and changed. One store in a line is
// enough for that.
void rewrite(std::span<std::byte> input) {
    constexpr std::size_t line = 64;
    const auto store = [&](std::size_t at) {
        volatile std::byte& byte = input[at];
        byte = byte;
    };
    for (std::size_t at = 0; at < input.size(); at += line) store(at);
    if (!input.empty()) store(input.size() - 1);  // where the begin is not that of a line
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

// Size by size, as the table shows them; both placements of a size together.
std::vector<std::vector<Spot>> spots_of(const Sweep& sweep, int ranks) {
    const std::vector<Op> no_op{Op::sum};
    const std::vector<Rank> no_root{Rank{0}};
    std::vector<std::vector<Spot>> spots;
    for (const DataType type : sweep.types)
        for (const Op op : reduces(sweep.collective) ? sweep.ops : no_op)
            for (const Rank root : has_root(sweep.collective) ? sweep.roots : no_root)
                for (const std::int64_t count : counts_of(sweep, type, ranks)) {
                    auto& together = spots.emplace_back();
                    for (const bool in_place : sweep.in_place)
                        together.push_back({{sweep.collective, type, op, root, count}, in_place});
                }
    return spots;
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

class SweepRun {
public:
    SweepRun(Planner& planner, const Sweep& sweep, const SweepEvents& events)
        : planner_(planner), world_(planner.world()), sweep_(sweep), events_(events) {}

    void run() {
        const auto spots = spots_of(sweep_, world_.size());
        std::size_t most = 0;
        for (const auto& together : spots)
            for (const Spot& spot : together)
                most =
                    std::max(most, BufferPool::bytes_for(spot.call, world_.size(), spot.in_place));
        BufferPool stage(world_, most, kinds(), device_buffers(planner_, transports()));
        spots_left_ = spots.size() * sweep_.in_place.size() * stage.kinds().size();
        std::uint64_t number = 0;
        for (const auto& together : spots) {
            std::vector<Point> points;
            for (const BufferKind kind : stage.kinds())
                for (const Spot& spot : together) {
                    events_.before_point(title_of(spot));
                    measure_spot(stage, kind, spot, ++number, points);
                }
            events_.after_point(points);
        }
    }

private:
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

    // Where nothing is said, and all that was asked of us is done by devices: their memory. Where
    // nothing was asked of us, the libraries decide.
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

    static std::string title_of(const Spot& spot) {
        return std::string(name_of(spot.call.collective)) + " " + std::to_string(spot.call.count) +
               " " + std::string(name_of(spot.call.type));
    }

    void measure_spot(BufferPool& stage, BufferKind kind, const Spot& spot, std::uint64_t number,
                      std::vector<Point>& points) {
        const PooledBuffers buffers = stage.set(spot.call, spot.in_place, kind);
        std::vector<std::unique_ptr<Operation>> operations;
        std::vector<Trial> trials;
        std::vector<std::size_t> point_of;
        for (const Candidate& candidate : sweep_.candidates) {
            Point& point = points.emplace_back(blank_point(candidate, spot, kind));
            point.skipped =
                refusal(planner_, candidate, spot.call, buffers, sweep_.environment.hosts);
            const std::int64_t calls_of_run =
                candidate.is_ours() ? planner_.runs_of_call(candidate.configuration.transport) : 1;
            if (!point.skipped && planner_.runs_on_devices() > 1) {
                if (calls_of_run == 1)
                    point.skipped = "one launch does one call there; take -G away";
                else if (spot.in_place)
                    point.skipped = "in place each run of a graph takes what the one before left";
            }
            if (!from_rank0(world_, !point.skipped)) {
                if (!point.skipped) point.skipped = "rank 0 cannot run it";
                continue;
            }
            if (point.skipped) throw Error("rank 0 can run it, but here: " + *point.skipped);
            operations.push_back(
                operation_of(planner_, candidate, spot.call, buffers, sweep_.environment));
            trials.push_back(entrant_for(*operations.back(), spot, buffers));
            trials.back().calls_of_run = calls_of_run;
            point_of.push_back(points.size() - 1);
        }
        Protocol protocol = sweep_.protocol;
        protocol.seed += number;
        protocol.max_seconds = seconds_for(trials.size());
        const auto measured = measure(world_, trials, protocol);
        for (std::size_t i = 0; i < measured.size(); ++i) {
            if (measured[i].samples.empty() && measured[i].check.state != CheckState::fail)
                points[point_of[i]].skipped =
                    "no call began on time on all ranks; type --sync barrier";
            else
                fill(points[point_of[i]], measured[i]);
            if (operations[i]->left_over()) ++points[point_of[i]].check.n_wrong;
            if (auto* chosen = dynamic_cast<ChosenOperation*>(operations[i].get()))
                points[point_of[i]].choice = chosen->choice();
        }
        agree_on_failures(points);
    }

    // An equal share of what is left of the budget; half of it, as set-up and checks take time too.
    double seconds_for(std::size_t trials) {
        const double rows_left =
            static_cast<double>(spots_left_-- * std::max<std::size_t>(trials, 1));
        if (sweep_.budget_seconds == 0) return sweep_.protocol.max_seconds;
        const double spent = seconds_since(began_ns_);
        const double share = std::max(sweep_.budget_seconds - spent, 0.0) / rows_left / 2;
        return std::min(sweep_.protocol.max_seconds, from_rank0(world_, share));
    }

    Trial entrant_for(Operation& operation, const Spot& spot, const PooledBuffers& buffers) {
        Trial trial = trial_of(operation, world_, spot.call, buffers, sweep_.check);
        if (sweep_.input == InputState::rewritten) {
            if (buffers.registered != nullptr && buffers.registered->device() != nullptr)
                throw Error("the host does not rewrite buffers on devices; type --input untouched");
            trial.before_call = [input = buffers.writable_input] { rewrite(input); };
        }
        return trial;
    }

    Point blank_point(const Candidate& candidate, const Spot& spot, BufferKind kind) const {
        const Call& call = spot.call;
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
        key.inplace = spot.in_place;
        key.buf = in_key(kind);
        if (sweep_.input == InputState::rewritten) key.input = "rewritten";
        key.nranks = world_.size();
        key.ppn = static_cast<int>(world_.hosts().nodes().front().size());
        key.placement = placement_in_words(candidate);
        if (sweep_.predict && !spot.in_place) point.predicted_ns = predicted(candidate, call, kind);
        return point;
    }

    std::optional<double> predicted(const Candidate& candidate, const Call& call,
                                    BufferKind kind) const {
        const auto ns = sweep_.predict(candidate, call, kind);
        return ns ? std::optional(std::round(*ns * 10) / 10) : std::nullopt;
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
        point.mode = measured.start;
        point.def = measured.from;
        point.n_invalid = measured.n_invalid;
        point.calls_of_sample = measured.calls_of_sample;
        point.n_warm = measured.n_warm;
        point.stop_reason = measured.stop_reason;
        point.time = summarise(measured.samples);
        point.skew_p50_ns = measured.skew_p50_ns;
        point.device_p50_ns = measured.device_p50_ns;
        point.clock_residual_ns = measured.clock_residual_ns;
        point.straggler = measured.stragglers;
        point.wire = measured.wire;
        point.bandwidth = bandwidth(point.key.coll, point.key.nranks, point.key.bytes,
                                    static_cast<double>(point.time.p50));
        point.check = measured.check;
        point.samples = measured.samples;
        // In a row of calls with a root ranks run ahead: the least time of one call is no bound.
        const bool runs_ahead = has_root(point.key.coll) && point.calls_of_sample > 1;
        // What is known are the host's limits.
        const std::string& transport = point.key.configuration.transport;
        const bool is_on_host =
            point.key.buf != "cuda" && (transport.empty() || !find_transport(transport).on_device);
        if (sweep_.limits && is_on_host && !runs_ahead) compare(point, *sweep_.limits);
    }

    void compare(Point& point, const Limits& limits) const {
        const Key& key = point.key;
        const Call call{key.coll, key.dtype, Op::sum, key.root.value_or(Rank{0}), key.count};
        const Reach reach = key.buf == "registered" ? Reach::registered : Reach::unregistered;
        const auto to_tenths = [](double number) { return std::round(number * 10) / 10; };
        const double least = least_time(limits, call, world_.hosts(), key.inplace, reach);
        if (least == 0) return;
        point.limit_ns = to_tenths(least);
        if (point.time.p50 > 0)
            point.pct_of_limit = to_tenths(100 * least / static_cast<double>(point.time.p50));
    }

    // A message left over is seen by its receiver alone.
    void agree_on_failures(std::vector<Point>& points) {
        for (Point& point : points) {
            if (point.skipped) continue;
            const auto counts = gather_all(world_, point.check.n_wrong);
            point.check.n_wrong = *std::max_element(counts.begin(), counts.end());
            if (point.check.n_wrong > 0) point.check.state = CheckState::fail;
        }
    }

    Planner& planner_;
    World& world_;
    const Sweep& sweep_;
    const SweepEvents& events_;
    std::int64_t began_ns_ = now_ns();
    std::size_t spots_left_ = 0;
};

}  // namespace

std::size_t points_of(const Sweep& sweep, int ranks) { return spots_of(sweep, ranks).size(); }

void run_sweep(Planner& planner, const Sweep& sweep, const SweepEvents& events) {
    SweepRun(planner, sweep, events).run();
}

}  // namespace tutti
