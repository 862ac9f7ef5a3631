// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "workloads/traces/ops_builder.hpp"
#include "workloads/traces/trace_forms.hpp"

namespace tutti {
namespace {

struct OfRank {
    Rank rank;
    Fields fields;
};

// Ranks are listed under "ranks", or as entries with their rank.
std::vector<OfRank> listed_ops(const Fields& document, int ranks) {
    std::vector<OfRank> all;
    for (const Fields& rank : document.objects("ranks"))
        for (const Fields& op : rank.objects("ops"))
            all.push_back({rank_of(rank, "rank", ranks), op});
    for (const Fields& op : document.objects("ops"))
        all.push_back({rank_of(op, "rank", ranks), op});
    if (all.empty()) document.refuse("no ops");
    return all;
}

constexpr int most_ranks = 1 << 16;

int ranks_of(const Fields& document) {
    const std::int64_t ranks = document.has("world")
                                   ? document.number("world")
                                   : static_cast<std::int64_t>(document.objects("ranks").size());
    if (ranks < 1 || ranks > most_ranks)
        document.refuse(fmt::format("'world' is {}, not from 1 to {}", ranks, most_ranks));
    return static_cast<int>(ranks);
}

class Reader {
public:
    explicit Reader(const Fields& document) : document_(document), builder_(ranks_of(document)) {}

    OpsTrace read() {
        for (const Fields& one : document_.objects("groups"))
            if (!groups_.emplace(one.number("id"), builder_.group_of(one.numbers("ranks"), one))
                     .second)
                one.refuse(fmt::format("group {} appears twice", one.number("id")));
        const auto all = listed_ops(document_, builder_.ranks());
        // If computing was not recorded, the time between launches counts as computing.
        for (const auto& [rank, fields] : all)
            if (fields.has("compute_us")) computes_.insert(rank.index);
        for (const auto& [rank, fields] : all)
            if (fields.has("orig_launch_us")) {
                const std::int64_t launch = fields.ns("orig_launch_us", 0);
                const auto at = began_ns_.try_emplace(rank.index, launch).first;
                at->second = std::min(at->second, launch);
            }
        for (const auto& [rank, fields] : all) read_op(rank, fields);
        return builder_.done();
    }

private:
    void read_op(Rank rank, const Fields& fields) {
        TraceOp op;
        op.place = fields.place();
        const std::string name = fields.text("op");
        const OpName what = with_place(fields, [&] { return op_of_trace(name); });
        op.kind = what.kind;
        op.collective = what.collective;
        op.phase = phase_of_trace(fields.text("phase"));
        op.after = fields.numbers("deps");
        op.compute_ns = fields.duration_ns("compute_us");
        read_id(rank, fields, op);
        if (op.kind == TraceOp::Kind::collective) read_group(rank, fields, op);
        const bool moves = op.kind != TraceOp::Kind::compute && op.kind != TraceOp::Kind::wait &&
                           has_buffers(op.collective);
        if (moves) {
            op.type =
                with_place(fields, [&] { return type_of_trace(fields.text("dtype", "float32")); });
            op.sends = fields.counts("in_split");
            op.receives = fields.counts("out_split");
            if (op.sends.empty() || fields.has("count")) op.count = fields.count("count");
        }
        if (op.kind == TraceOp::Kind::send || op.kind == TraceOp::Kind::recv)
            op.peer = rank_of(fields, "peer", builder_.ranks());
        if (fields.has("root")) op.root = rank_of(fields, "root", builder_.ranks());
        std::optional<std::int64_t> launch;
        if (!computes_.contains(rank.index) && fields.has("orig_launch_us"))
            launch = fields.ns("orig_launch_us", 0) - began_ns_.at(rank.index);
        builder_.add(rank, std::move(op), launch);
    }

    void read_id(Rank rank, const Fields& fields, TraceOp& op) {
        op.id = fields.number("id", -1);
        auto& known = ids_[rank.index];
        for (const std::int64_t earlier : op.after)
            if (!known.contains(earlier))
                fields.refuse(fmt::format("depends on op {}, which is not an earlier op of rank {}",
                                          earlier, rank.index));
        if (op.id >= 0 && !known.insert(op.id).second)
            fields.refuse(fmt::format("rank {} has two ops with the id {}", rank.index, op.id));
    }

    void read_group(Rank rank, const Fields& fields, TraceOp& op) {
        if (!fields.has("group")) {
            op.root = builder_.group(0).front();
            return;
        }
        const auto known = groups_.find(fields.number("group"));
        if (known == groups_.end())
            fields.refuse(fmt::format("group {} is not in 'groups'", fields.number("group")));
        op.group = known->second;
        op.root = builder_.group(op.group).front();
        if (place_in(builder_.group(op.group), rank) < 0)
            fields.refuse(
                fmt::format("rank {} is not in group {}", rank.index, fields.number("group")));
    }

    const Fields& document_;
    OpsBuilder builder_;
    std::map<std::int64_t, int> groups_;
    std::map<int, std::set<std::int64_t>> ids_;
    std::set<int> computes_;
    std::map<int, std::int64_t> began_ns_;
};

}  // namespace

OpsTrace ops_of(const Fields& document) { return Reader(document).read(); }

namespace {

DataType type_by_size(const Fields& of) {
    switch (of.number("elem", 4)) {
        case 1:
            return DataType::uint8;
        case 2:
            return DataType::half;
        case 4:
            return DataType::float32;
        case 8:
            return DataType::int64;
        default:
            of.refuse("'elem' is not an element size of 1, 2, 4 or 8 bytes");
    }
}

// `numel` is a rank's whole input.
TraceOp op_of(const Fields& fields, int ranks) {
    TraceOp op;
    op.place = fields.place();
    const OpName what = with_place(fields, [&] { return op_of_trace(fields.text("op")); });
    if (what.kind != TraceOp::Kind::collective) fields.refuse("'op' is not a collective");
    op.kind = what.kind;
    op.collective = what.collective;
    op.type = type_by_size(fields);
    op.sends = fields.counts("in_split");
    op.receives = fields.counts("out_split");
    op.count = fields.count("numel");
    const bool is_of_blocks = op.collective == Collective::reduce_scatter ||
                              op.collective == Collective::scatter ||
                              (op.collective == Collective::all_to_all && op.sends.empty());
    if (is_of_blocks) {
        if (op.count % ranks != 0)
            fields.refuse(fmt::format("{} elements cannot be divided equally among {} ranks",
                                      op.count, ranks));
        op.count /= ranks;
    }
    return op;
}

// Returns when the earliest rank began its step: the ranks have one clock.
std::int64_t begin_of(const std::vector<Fields>& ranks) {
    std::int64_t begin = std::numeric_limits<std::int64_t>::max();
    for (const Fields& rank : ranks)
        for (const Fields& call : rank.objects("comms"))
            begin = std::min(begin, call.ns("launch_us", 0));
    return begin;
}

}  // namespace

OpsTrace comms_of(const Fields& document) {
    const auto listed = document.objects("ranks");
    const int ranks = ranks_of(document);
    OpsBuilder builder(ranks);
    const std::int64_t begin = begin_of(listed);
    for (const Fields& rank : listed)
        for (const Fields& call : rank.objects("comms"))
            builder.add(rank_of(rank, "rank", ranks), op_of(call, ranks),
                        call.ns("launch_us", begin) - begin);
    // One rank's calls without times: all other ranks did the same.
    const auto calls_of_each = document.objects("comms");
    constexpr std::size_t most_ops = std::size_t{1} << 22;  // a GB
    if (calls_of_each.size() > most_ops / as_size(ranks))
        document.refuse(fmt::format("{} calls on each of {} ranks are too many: {} in all",
                                    calls_of_each.size(), ranks, most_ops));
    for (const Fields& call : calls_of_each)
        for (int rank = 0; rank < ranks; ++rank) builder.add({rank}, op_of(call, ranks));
    return builder.done();
}

}  // namespace tutti
