// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/collective_form.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "workloads/traces/trace.hpp"

namespace tutti {
namespace {

using Kind = TraceOp::Kind;

[[noreturn]] void refuse(const TraceOp& op, const std::string& what) {
    throw Error(fmt::format("{}: {}", op.place, what));
}

std::string describe(const TraceOp& op) {
    if (!has_buffers(op.collective)) return "a barrier";
    return fmt::format("{} of {} elements", name_of(op.collective), op.count);
}

// One member's part in a call.
struct Part {
    Rank rank;
    const TraceOp* op;
};

class Maker {
public:
    Maker(const OpsTrace& trace, const std::string& name, Blocks blocks)
        : trace_(trace), blocks_(blocks) {
        made_.program.name = name;
        made_.program.groups = trace.groups;
        made_.program.tasks.resize(trace.ranks.size());
    }

    OpsProgram make() {
        match_collectives();
        match_pairs();
        for (std::size_t rank = 0; rank < trace_.ranks.size(); ++rank)
            add_tasks(Rank{static_cast<int>(rank)});
        return std::move(made_);
    }

private:
    void match_collectives() {
        for (std::size_t group = 0; group < trace_.groups.size(); ++group) {
            std::vector<std::vector<Part>> calls;
            for (const Rank rank : trace_.groups[group]) {
                const auto mine = ops_of(rank, static_cast<int>(group));
                if (rank == trace_.groups[group].front()) calls.resize(mine.size());
                if (mine.size() != calls.size())
                    throw Error(fmt::format(
                        "trace '{}': rank {} has {} calls in group {}, but rank {} has {}",
                        made_.program.name, rank.index, mine.size(), group,
                        trace_.groups[group].front().index, calls.size()));
                for (std::size_t k = 0; k < mine.size(); ++k) calls[k].push_back({rank, mine[k]});
            }
            for (const auto& parts : calls) add_collective(static_cast<int>(group), parts);
        }
    }

    std::vector<const TraceOp*> ops_of(Rank rank, int group) const {
        std::vector<const TraceOp*> mine;
        for (const TraceOp& op : at(trace_.ranks, rank))
            if (op.kind == Kind::collective && op.group == group) mine.push_back(&op);
        return mine;
    }

    void add_collective(int group, const std::vector<Part>& parts) {
        const TraceOp& first = *parts.front().op;
        const auto& members = at(trace_.groups, group);
        for (const auto& [rank, op] : parts)
            if (op->kind != first.kind || op->collective != first.collective ||
                op->type != first.type || op->root != first.root ||
                (op->count != first.count && !may_differ(*op, first)))
                refuse(*op, fmt::format("rank {} calls {} where rank {} calls {} ({})", rank.index,
                                        describe(*op), parts.front().rank.index, describe(first),
                                        first.place));
        GroupCall call;
        call.label = std::string(name_of(first.collective));
        call.group = group;
        call.call.collective = first.collective;
        call.call.type = first.type;
        call.call.count = first.count;
        if (has_root(first.collective)) {
            call.call.root = {place_in(members, first.root)};
            if (call.call.root.index < 0) refuse(first, "its root is not in its group");
        }
        if (has_blocks(first.collective)) set_blocks(call.call, parts);
        call.in_place =
            first.collective == Collective::all_reduce || first.collective == Collective::broadcast;
        add(std::move(call), parts);
    }

    // Ranks count their own blocks, which may differ; those of an all_to_all only as splits.
    static bool may_differ(const TraceOp& op, const TraceOp& first) {
        return op.collective == Collective::all_to_all ? !op.sends.empty() || !first.sends.empty()
                                                       : has_blocks(op.collective);
    }

    void set_blocks(Call& call, const std::vector<Part>& parts) {
        std::vector<std::int64_t> counts;
        if (call.collective == Collective::all_to_all)
            counts = splits_of(parts);
        else
            for (const Part& part : parts) counts.push_back(part.op->count);
        call = made_.program.with_lengths(call, counts, blocks_);
        if (blocks_ == Blocks::exact) return;
        const BlockLengths lengths(counts);
        Call exact = call;
        exact.lengths = &lengths;
        const int ranks = int_size(parts);
        for (int rank = 0; rank < ranks; ++rank)
            made_.padding_bytes += static_cast<std::int64_t>(input_bytes(call, ranks, Rank{rank}) -
                                                             input_bytes(exact, ranks, Rank{rank}));
    }

    // Returns the elements that each rank sends to each, row after row.
    std::vector<std::int64_t> splits_of(const std::vector<Part>& parts) {
        std::vector<std::int64_t> splits;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const TraceOp& op = *parts[i].op;
            const auto sends = sends_of(op, parts.size());
            for (std::size_t to = 0; to < parts.size(); ++to) {
                if (sends[to] < 0) refuse(op, "a split is negative");
                const TraceOp& other = *parts[to].op;
                if (!other.receives.empty() && other.receives.size() == parts.size() &&
                    other.receives[i] != sends[to])
                    refuse(op, fmt::format("rank {} sends {} elements to rank {}, which expects {}",
                                           parts[i].rank.index, sends[to], parts[to].rank.index,
                                           other.receives[i]));
            }
            splits.insert(splits.end(), sends.begin(), sends.end());
        }
        return splits;
    }

    static std::vector<std::int64_t> sends_of(const TraceOp& op, std::size_t ranks) {
        if (op.sends.empty()) return std::vector<std::int64_t>(ranks, op.count);
        if (op.sends.size() != ranks)
            refuse(op, fmt::format("{} splits in a group of {} ranks", op.sends.size(), ranks));
        return op.sends;
    }

    // Matches sends and receives in their order. Each direction is a separate group, as ranks may
    // start their sends and receives in any order.
    void match_pairs() {
        std::map<std::pair<Rank, Rank>, std::vector<Part>> sent, received;
        for (std::size_t i = 0; i < trace_.ranks.size(); ++i)
            for (const TraceOp& op : trace_.ranks[i]) {
                const Rank rank{static_cast<int>(i)};
                if (op.kind == Kind::send) sent[{rank, op.peer}].push_back({rank, &op});
                if (op.kind == Kind::recv) received[{op.peer, rank}].push_back({rank, &op});
            }
        for (const auto& [pair, ops] : received)
            if (ops.size() > sent[pair].size())
                refuse(*ops.back().op,
                       fmt::format("rank {} has no matching send", pair.first.index));
        for (const auto& [pair, ops] : sent) {
            const auto& [from, to] = pair;
            const auto& others = received[pair];
            if (ops.size() > others.size())
                refuse(*ops.back().op, fmt::format("rank {} has no matching receive", to.index));
            if (from == to) refuse(*ops.front().op, "a rank sends to itself");
            made_.program.groups.push_back({std::min(from, to), std::max(from, to)});
            for (std::size_t k = 0; k < ops.size(); ++k)
                add_pair(from < to ? Rank{0} : Rank{1}, ops[k], others[k]);
        }
    }

    void add_pair(Rank root, const Part& send, const Part& receive) {
        if (send.op->count != receive.op->count || send.op->type != receive.op->type)
            refuse(*receive.op,
                   fmt::format("{} elements are received, but rank {} sends {} ({})",
                               receive.op->count, send.rank.index, send.op->count, send.op->place));
        GroupCall call;
        call.label = fmt::format("send {} to {}", send.rank.index, receive.rank.index);
        call.group = int_size(made_.program.groups) - 1;
        call.call.collective = Collective::broadcast;
        call.call.type = send.op->type;
        call.call.count = send.op->count;
        call.call.root = root;
        call.in_place = true;
        add(std::move(call), {send, receive});
    }

    void add(GroupCall call, const std::vector<Part>& parts) {
        const int index = made_.program.add_call(std::move(call));
        for (const Part& part : parts) call_of_[part.op] = index;
    }

    void add_tasks(Rank rank) {
        std::map<std::int64_t, int> by_id;
        std::vector<int> under_way;
        const auto wait = [&](int call, Task::Phase phase) {
            if (std::erase(under_way, call) > 0) made_.program.wait(rank, call, phase);
        };
        const auto wait_for_all = [&](Task::Phase phase) {
            while (!under_way.empty()) wait(under_way.front(), phase);
        };
        const auto& ops = at(trace_.ranks, rank);
        for (const TraceOp& op : ops) {
            for (const std::int64_t earlier : op.after)  // computing is over anyway
                if (const auto call = by_id.find(earlier); call != by_id.end())
                    wait(call->second, op.phase);
            if (op.kind == Kind::compute) {
                made_.program.compute(rank, op.compute_ns, op.phase);
            } else if (op.kind == Kind::wait) {
                if (op.after.empty()) wait_for_all(op.phase);
            } else {
                const int call = call_of_.at(&op);
                made_.program.start(rank, call, op.phase);
                under_way.push_back(call);
                if (op.id >= 0) by_id[op.id] = call;
            }
        }
        if (!ops.empty()) wait_for_all(ops.back().phase);
    }

    const OpsTrace& trace_;
    Blocks blocks_;
    OpsProgram made_;
    std::map<const TraceOp*, int> call_of_;
};

}  // namespace

OpsProgram program_of(const OpsTrace& trace, const std::string& name, Blocks blocks) {
    return Maker(trace, name, blocks).make();
}

}  // namespace tutti
