// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "workloads/traces/ops_builder.hpp"
#include "workloads/traces/trace_words.hpp"

namespace tutti {

/// A call as PyTorch's recorders tell it: elements of a rank's whole input and output.
struct ImportedCall {
    OpName what;
    Rank rank;
    std::string type = "float32";
    std::int64_t input = 0, output = 0;
    std::vector<std::int64_t> sends, receives;
    std::vector<std::int64_t> group;    ///< ranks of all; none: all
    std::int64_t root = -1, peer = -1;  ///< ranks of all; root -1: the group's first
};

inline void require_size(std::int64_t count, const Fields& of) {
    if (count < 0 || count > std::int64_t{1} << 40)
        of.refuse(fmt::format("{} elements are not 0 to 2^40", count));
}

/// Counted as our collectives count. Throws Error telling `of`.
inline TraceOp op_of(const ImportedCall& call, OpsBuilder& builder, const Fields& of) {
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
            of.refuse(fmt::format("its {} is rank {}, of {} ranks: is there a file for each rank?",
                                  what, rank, builder.ranks()));
        return Rank{static_cast<int>(rank)};
    };
    op.root = call.root < 0 ? members.front() : rank_below(call.root, "root");
    if (op.kind == TraceOp::Kind::barrier) return op;
    require_size(call.input, of);
    require_size(call.output, of);
    op.type = told_by(of, [&] { return type_of_trace(call.type); });
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
                of.refuse(
                    fmt::format("{} elements are not equal parts for {} ranks", call.input, ranks));
            op.count /= ranks;
            break;
        default:
            op.count = call.input;
    }
    return op;
}

}  // namespace tutti
