// SPDX-License-Identifier: Apache-2.0
#include "workloads/bench/sweep_points.hpp"

#include <algorithm>

#include "base/rounding.hpp"
#include "collectives/device/accelerator.hpp"
#include "results/records/share_of_limit.hpp"
#include "results/statistics/bandwidth.hpp"
#include "workloads/limits/least_time.hpp"
#include "workloads/timing/done_by_all.hpp"
#include "workloads/timing/level_shares.hpp"

namespace tutti {
namespace {

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
    if (!has_buffers(sweep.collective)) return {0};
    if (!sweep.counts.empty()) return sweep.counts;
    std::vector<std::int64_t> counts;
    for (const Bytes size : sweep.sizes)
        counts.push_back(count_for(sweep.collective, type, ranks, size));
    counts.erase(std::unique(counts.begin(), counts.end()),
                 counts.end());  // rounded up to the same
    return counts;
}

// A single block has the length of the call.
SweptCall with_lengths(Call call, const BlockRule& rule, int ranks,
                       std::optional<std::int64_t> average) {
    const auto counts = block_counts(rule, call.collective, ranks, average);
    SweptCall swept{.call = call, .count = average.value_or(0), .blocks = rule.name, .lengths = {}};
    const auto lengths = std::make_shared<const BlockLengths>(counts);
    if (!average) swept.count = lengths->before(lengths->blocks()) / lengths->blocks();
    swept.call.count = lengths->longest();
    if (ranks == 1) return swept;
    swept.lengths = lengths;
    swept.call.lengths = lengths.get();
    return swept;
}

bool is_of_devices(const Candidate& candidate) {
    if (candidate.baseline != nullptr) return candidate.baseline->takes_device;
    if (!candidate.is_ours()) return false;
    const TransportRow& row = find_transport(candidate.configuration.transport);
    return row.methods.are_of_devices() || row.between_devices;
}

}  // namespace

std::vector<SweptCall> calls_of(const Sweep& sweep, int ranks) {
    const std::vector<Op> no_op{Op::sum};
    const std::vector<Rank> no_root{Rank{0}};
    const std::vector<DataType> token{DataType::uint8};
    std::vector<SweptCall> calls;
    for (const DataType type : has_buffers(sweep.collective) ? sweep.types : token)
        for (const Op op : reduces(sweep.collective) ? sweep.ops : no_op)
            for (const Rank root : has_root(sweep.collective) ? sweep.roots : no_root) {
                const Call call{sweep.collective, type, op, root};
                const std::vector<std::int64_t> counts = counts_of(sweep, type, ranks);
                for (const BlockRule& rule : sweep.blocks) {
                    if (counts.empty()) calls.push_back(with_lengths(call, rule, ranks, {}));
                    for (const std::int64_t count : counts)
                        calls.push_back(with_lengths(call, rule, ranks, count));
                }
                if (!sweep.blocks.empty()) continue;
                for (const std::int64_t count : counts) {
                    calls.push_back({.call = call, .count = count, .blocks = {}, .lengths = {}});
                    calls.back().call.count = count;
                }
            }
    return calls;
}

SweepPoints::SweepPoints(Planner& planner, const Sweep& sweep)
    : planner_(planner), world_(planner.world()), sweep_(sweep) {}

std::vector<std::string> SweepPoints::transports() const {
    std::vector<std::string> names;
    for (const Candidate& candidate : sweep_.candidates)
        if (candidate.is_ours()) names.push_back(candidate.configuration.transport);
    return names;
}

// Uses device memory by default if all of tutti's candidates run on devices or, without such
// candidates, if all libraries accept it.
std::vector<BufferKind> SweepPoints::kinds() const {
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

BufferPool SweepPoints::pool_for(std::span<const SweptCall> calls, BufferOffsets offsets) const {
    std::size_t most = 0;
    for (const SweptCall& swept : calls)
        for (const bool in_place : sweep_.in_place)
            most = std::max(most, BufferPool::bytes_for(swept.call, world_.size(), in_place));
    return {world_, most, kinds(), device_buffers(planner_, transports()), offsets};
}

std::int64_t SweepPoints::calls_of_run(const Candidate& candidate) const {
    return candidate.is_ours() ? planner_.runs_of_call(candidate.configuration.transport) : 1;
}

std::optional<std::string> SweepPoints::reason_to_skip(const Candidate& candidate,
                                                       const CommonPoint& common,
                                                       const PooledBuffers& buffers) const {
    auto reason = common.in_place ? refuses_in_place(common.swept.call, world_.size())
                                  : std::optional<std::string>();
    if (!reason)
        reason = refusal(planner_, candidate, common.swept.call, buffers, sweep_.environment.hosts);
    if (!reason && planner_.runs_on_devices() > 1) {
        if (calls_of_run(candidate) == 1)
            reason = "-G is not possible: a launch does one call there";
        else if (common.in_place)
            reason = "in place, each run of a graph would take the previous result";
    }
    if (!from_rank0(world_, !reason)) return reason ? reason : "rank 0 cannot run it";
    done_by_all(world_, [&] {
        if (reason) throw Error("rank 0 can run it, but here: " + *reason);
    });
    return std::nullopt;
}

CandidateTrial SweepPoints::trial_at(const Candidate& candidate, const CommonPoint& common,
                                     const PooledBuffers& buffers) const {
    CandidateTrial made;
    done_by_all(world_, [&] {
        made.chosen =
            operation_of(planner_, candidate, common.swept.call, buffers, sweep_.environment);
    });
    Trial& trial = made.trial;
    trial = trial_of(*made.chosen.operation, world_, common.swept.call, buffers, sweep_.check);
    trial.calls_of_run = calls_of_run(candidate);
    if (sweep_.input == InputState::rewritten) {
        if (buffers.registered != nullptr && buffers.registered->device() != nullptr)
            throw Error("the host does not rewrite buffers on devices; use --input untouched");
        trial.before_call = [input = buffers.writable_input] { rewrite(input); };
    }
    return made;
}

Point SweepPoints::blank_point(const Candidate& candidate, const CommonPoint& common) const {
    const Call& call = common.swept.call;
    Point point;
    Key& key = point.key;
    key.coll = call.collective;
    key.configuration = candidate.configuration;
    if (candidate.is_ours() && candidate.row->pipelines &&
        candidate.configuration.segment == Bytes{})
        key.configuration.segment =
            segment_of({candidate.row, candidate.configuration, sweep_.environment}, call,
                       world_.size(), world_.hosts());
    key.dtype = call.type;
    if (reduces(call.collective)) key.op = call.op;
    if (has_root(call.collective)) key.root = call.root;
    key.count = common.swept.count;
    key.bytes = {total_bytes(call, world_.size())};
    key.inplace = common.in_place;
    key.buf = name_in(kinds_in_keys, common.kind);
    if (sweep_.input == InputState::rewritten) key.input = "rewritten";
    key.blocks = common.swept.blocks;
    key.nranks = world_.size();
    key.ppn = static_cast<int>(world_.hosts().nodes().front().size());
    key.placement = placement_name(candidate);
    if (sweep_.predict && !common.in_place && call.lengths == nullptr)
        if (const auto ns = sweep_.predict(candidate, call, common.kind))
            point.predicted_ns = to_tenths(*ns);
    return point;
}

std::string SweepPoints::placement_name(const Candidate& candidate) const {
    std::string words;
    const auto add = [&](const std::string& more) { words += (words.empty() ? "" : ", ") + more; };
    if (candidate.is_ours() && planner_.is_virtual(candidate.configuration.transport))
        add(std::string(virtual_ranks));
    if (sweep_.ranks_per_node > 0) add("nodes of " + std::to_string(sweep_.ranks_per_node));
    if (sweep_.ranks_per_island > 0) add("islands of " + std::to_string(sweep_.ranks_per_island));
    return words;
}

void SweepPoints::fill(Point& point, const Measured& measured) const {
    point.measured = measured;
    point.time = summarise(measured.samples);
    point.bandwidth = bandwidth(point.key.coll, point.key.nranks, point.key.bytes,
                                static_cast<double>(point.time.p50), point.key.blocks);
    // Back-to-back calls in which some ranks need not wait for others overlap, so the least time of
    // one call is no bound.
    const bool runs_ahead =
        (has_root(point.key.coll) || is_prefix(point.key.coll)) && measured.calls_of_sample > 1;
    // Limits are known for host memory only.
    const std::string& transport = point.key.configuration.transport;
    const bool is_on_host =
        point.key.buf != "cuda" &&
        (transport.empty() || !find_transport(transport).methods.are_of_devices());
    if (!sweep_.limits || !is_on_host || runs_ahead) return;
    const double least = least_time(*sweep_.limits, point.key, world_.hosts());
    if (least > 0) set_limit(point, least);
}

std::vector<LevelShare> SweepPoints::levels_of(Operation& operation, const Call& call,
                                               const std::function<void()>& before_call,
                                               std::int64_t ns_of_call) const {
    const Placement& given = sweep_.environment.hosts;
    return level_shares(world_, operation, call, given.nodes().empty() ? world_.hosts() : given,
                        before_call, ns_of_call);
}

void SweepPoints::agree_on_failures(std::vector<Point>& points) const {
    for (Point& point : points) {
        if (point.skipped) continue;
        Check& check = point.measured.check;
        const auto counts = gather_all(world_, check.n_wrong);
        check.n_wrong = *std::max_element(counts.begin(), counts.end());
        if (check.n_wrong > 0) check.state = CheckState::fail;
    }
}

}  // namespace tutti
