// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/ops_builder.hpp"

#include <algorithm>

namespace tutti {

int OpsBuilder::group_of(const std::vector<std::int64_t>& ranks, const Fields& of) {
    std::vector<Rank> members;
    for (const std::int64_t rank : ranks) {
        if (rank < 0 || rank >= this->ranks())
            of.refuse(fmt::format("a group has rank {}, but the trace has {} ranks", rank,
                                  this->ranks()));
        members.push_back({static_cast<int>(rank)});
    }
    std::ranges::sort(members, {}, &Rank::index);
    if (members.empty() || std::ranges::adjacent_find(members) != members.end())
        of.refuse("a group has no ranks, or has a rank twice");
    const auto known = std::ranges::find(trace_.groups, members);
    if (known != trace_.groups.end()) return static_cast<int>(known - trace_.groups.begin());
    trace_.groups.push_back(std::move(members));
    return int_size(trace_.groups) - 1;
}

void OpsBuilder::add(Rank rank, TraceOp op, std::optional<std::int64_t> launch_ns) {
    auto& mine = trace_.ranks.at(as_size(rank));
    clock_ns_.resize(trace_.ranks.size());
    std::int64_t& clock = at(clock_ns_, rank);
    if (launch_ns && *launch_ns > clock) {
        TraceOp gap;
        gap.place = op.place;
        gap.phase = op.phase;
        gap.compute_ns = *launch_ns - clock;
        mine.push_back(std::move(gap));
        clock = *launch_ns;
    }
    if (op.kind == TraceOp::Kind::compute && op.compute_ns == 0 && op.id < 0) return;
    mine.push_back(std::move(op));
}

void OpsBuilder::repeat_on_all(Rank recorded, LeftOut& left_out) {
    const std::vector<TraceOp> ops = std::move(at(trace_.ranks, recorded));
    std::vector<TraceOp> kept;
    std::vector<std::int64_t> dropped;
    for (TraceOp op : ops) {
        const bool is_call = op.kind == TraceOp::Kind::collective;
        const bool is_local = op.kind == TraceOp::Kind::compute || op.kind == TraceOp::Kind::wait;
        if (!is_local && !(is_call && op.group == 0)) {
            left_out.add("calls that were recorded on one rank only");
            dropped.push_back(op.id);
            continue;
        }
        const bool waits_for_some = op.kind == TraceOp::Kind::wait && !op.after.empty();
        std::erase_if(op.after, [&](std::int64_t id) {
            return std::ranges::find(dropped, id) != dropped.end();
        });
        if (waits_for_some && op.after.empty()) continue;
        if (!op.sends.empty()) op.count = *std::ranges::max_element(op.sends);
        op.sends.clear();
        op.receives.clear();
        kept.push_back(std::move(op));
    }
    for (auto& rank : trace_.ranks) rank = kept;
}

int OpsBuilder::settle_roots() {
    int settled = 0;
    for (std::size_t group = 0; group < trace_.groups.size(); ++group) {
        const auto& members = trace_.groups[group];
        std::vector<std::vector<TraceOp*>> calls;  // by their place in the group's order
        for (const Rank rank : members) {
            std::size_t place = 0;
            for (TraceOp& op : at(trace_.ranks, rank)) {
                if (op.kind != TraceOp::Kind::collective || op.group != static_cast<int>(group))
                    continue;
                if (place == calls.size()) calls.emplace_back();
                calls[place++].push_back(&op);
            }
        }
        for (auto& ops : calls) {
            bool is_own = ops.size() == members.size() && ops.size() > 1;
            for (std::size_t i = 0; i < ops.size() && is_own; ++i)
                is_own = has_root(ops[i]->collective) && ops[i]->root == members[i];
            if (!is_own) continue;
            for (TraceOp* op : ops) op->root = members.front();
            ++settled;
        }
    }
    return settled;
}

std::string LeftOut::in_words() const {
    std::string text;
    for (const auto& [what, count] : counts_)
        text += fmt::format("{}{} {}", text.empty() ? "left out: " : ", ", count, what);
    return text;
}

std::optional<OpName> replayable(const std::string& name, const std::string& type,
                                 LeftOut& left_out) {
    try {
        const OpName what = op_of_trace(name);
        if (!has_buffers(what.collective) || what.kind == TraceOp::Kind::wait) return what;
        try {
            type_of_trace(complex_type_of_trace(type).type);
            return what;
        } catch (const Error&) {
            left_out.add(fmt::format("calls of the type '{}'", printable(type)));
        }
    } catch (const Error&) {
        left_out.add(fmt::format("calls of '{}'", printable(name)));
    }
    return std::nullopt;
}

Rank rank_of(const Fields& of, const char* name, int ranks) {
    const std::int64_t rank = of.number(name);
    if (rank < 0 || rank >= ranks)
        of.refuse(fmt::format("'{}' is rank {}, but the trace has {} ranks", name, rank, ranks));
    return {static_cast<int>(rank)};
}

namespace {

void require_size(std::int64_t count, const Fields& of) {
    if (count < 0 || count > most_elements)
        of.refuse(fmt::format("{} elements are not from 0 to 2^40", count));
}

}  // namespace

TraceOp op_of(const ImportedCall& imported, OpsBuilder& builder, const Fields& of) {
    ImportedCall call = imported;
    const auto [type, parts] = complex_type_of_trace(call.type);
    const auto in_parts = [&, n = parts](std::int64_t& count) {
        count = std::clamp<std::int64_t>(count, -1, most_elements + 1) * n;
    };
    for (std::int64_t* count : {&call.input, &call.output}) in_parts(*count);
    for (auto* counts : {&call.sends, &call.receives})
        for (std::int64_t& count : *counts) in_parts(count);
    TraceOp op;
    op.place = of.place();
    op.kind = call.what.kind;
    op.collective = call.what.collective;
    if (!call.group.empty()) op.group = builder.group_of(call.group, of);
    const auto& members = builder.group(op.group);
    const auto ranks = static_cast<std::int64_t>(members.size());
    if (place_in(members, call.rank) < 0)
        of.refuse(fmt::format("rank {} is not in its group", call.rank.index));
    const auto rank_below = [&](std::int64_t rank, const char* what) {
        if (rank < 0 || rank >= builder.ranks())
            of.refuse(fmt::format(
                "its {} is rank {}, but the trace has {} ranks; use one file for each rank", what,
                rank, builder.ranks()));
        return Rank{static_cast<int>(rank)};
    };
    op.root = call.root < 0 ? members.front() : rank_below(call.root, "root");
    if (!has_buffers(op.collective)) return op;
    require_size(call.input, of);
    require_size(call.output, of);
    op.type = with_place(of, [&] { return type_of_trace(type); });
    if (op.kind == TraceOp::Kind::send || op.kind == TraceOp::Kind::recv) {
        op.peer = rank_below(call.peer, "peer");
        op.count = op.kind == TraceOp::Kind::send ? call.input : call.output;
        return op;
    }
    for (const auto* counts : {&call.sends, &call.receives})
        for (const std::int64_t count : *counts) require_size(count, of);
    op.sends = call.sends;
    op.receives = call.receives;
    switch (op.collective) {
        case Collective::reduce_scatter:
        case Collective::scatter:
            op.count = call.output;
            break;
        case Collective::all_to_all:
            op.count = call.input;
            if (!op.sends.empty()) break;
            if (call.input % ranks != 0)
                of.refuse(fmt::format("{} elements cannot be divided equally among {} ranks",
                                      call.input, ranks));
            op.count /= ranks;
            break;
        default:
            op.count = call.input;
    }
    return op;
}

}  // namespace tutti
