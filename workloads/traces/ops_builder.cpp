// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/ops_builder.hpp"

#include <algorithm>

#include "base/index.hpp"

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
        of.refuse("a group has no ranks, or one twice");
    const auto known = std::ranges::find(trace_.groups, members);
    if (known != trace_.groups.end()) return static_cast<int>(known - trace_.groups.begin());
    trace_.groups.push_back(std::move(members));
    return static_cast<int>(trace_.groups.size()) - 1;
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

Rank rank_of(const Fields& of, const char* name, int ranks) {
    const std::int64_t rank = of.number(name);
    if (rank < 0 || rank >= ranks)
        of.refuse(fmt::format("'{}' is rank {}, of {} ranks", name, rank, ranks));
    return {static_cast<int>(rank)};
}

}  // namespace tutti
