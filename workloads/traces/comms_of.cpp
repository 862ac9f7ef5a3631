// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "workloads/traces/ops_builder.hpp"
#include "workloads/traces/trace_forms.hpp"
#include "workloads/traces/trace_words.hpp"

namespace tutti {
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
            of.refuse("'elem' is no size of an element: 1, 2, 4 or 8");
    }
}

// `numel` is a rank's whole input.
TraceOp op_of(const Fields& fields, int ranks) {
    TraceOp op;
    op.place = fields.place();
    const OpName what = told_by(fields, [&] { return op_of_trace(fields.text("op")); });
    if (what.kind != TraceOp::Kind::collective) fields.refuse("'op' is no collective");
    op.kind = what.kind;
    op.collective = what.collective;
    op.type = type_by_size(fields);
    op.sends = fields.counts("in_split");
    op.receives = fields.counts("out_split");
    op.count = fields.count("numel");
    if (op.collective == Collective::all_to_all && op.sends.empty()) {
        if (op.count % ranks != 0)
            fields.refuse(
                fmt::format("{} elements are not equal parts for {} ranks", op.count, ranks));
        op.count /= ranks;
    }
    return op;
}

// When the earliest rank began its step: the ranks have one clock.
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
    const std::int64_t world = document.number("world", static_cast<std::int64_t>(listed.size()));
    if (world < 1 || world > 1 << 20) document.refuse("'world' is 1 or more");
    const int ranks = static_cast<int>(world);
    OpsBuilder builder(ranks);
    const std::int64_t begin = begin_of(listed);
    for (const Fields& rank : listed)
        for (const Fields& call : rank.objects("comms"))
            builder.add(rank_of(rank, "rank", ranks), op_of(call, ranks),
                        call.ns("launch_us", begin) - begin);
    // Of one rank, without times: the others did the same.
    for (const Fields& call : document.objects("comms"))
        for (int rank = 0; rank < ranks; ++rank) builder.add({rank}, op_of(call, ranks));
    return builder.done();
}

}  // namespace tutti
