// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/compose.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <unordered_map>

namespace tutti {

Schedule pipelined(const Schedule& schedule, int segments) {
    if (segments <= 1 || schedule.steps() == 0) return schedule;
    const Extent extent{.ranks = schedule.ranks(),
                        .chunks = schedule.chunks() * segments,
                        .steps = schedule.steps() + segments - 1};
    return Schedule(extent, [=](int step, Step& out) {
        const int oldest = std::max(0, step - schedule.steps() + 1);
        const int youngest = std::min(segments - 1, step);
        for (int segment = oldest; segment <= youngest; ++segment)
            schedule.visit(
                step - segment,
                [&](Transfer transfer) {
                    const Chunks whole = transfer.chunks;
                    for (int chunk = whole.first; chunk < whole.first + whole.count; ++chunk) {
                        transfer.chunks = {chunk * segments + segment, 1};
                        out.say(transfer);
                    }
                },
                out.only());
    });
}

Schedule mirrored(const Schedule& schedule, Action action) {
    const Extent extent{schedule.ranks(), schedule.chunks(), schedule.steps()};
    return Schedule(extent, [=](int step, Step& out) {
        schedule.visit(
            schedule.steps() - 1 - step,
            [&](Transfer transfer) {
                std::swap(transfer.from, transfer.to);
                transfer.action = action;
                out.say(transfer);
            },
            out.only());
    });
}

namespace {

// A schedule of a group and how its ranks and chunks are called outside.
struct Inner {
    Group group;
    Schedule schedule;
    std::unordered_map<int, int> seat_of;  // outer rank index -> inner rank index
    int parts = 1;                         // outer chunks per inner chunk, where cut alike

    void say(int step, Step& out) const {
        if (step >= schedule.steps()) return;
        std::optional<Rank> only;
        if (out.only()) {
            const auto seat = seat_of.find(out.only()->index);
            if (seat == seat_of.end()) return;
            only = Rank{seat->second};
        }
        schedule.visit(
            step, [&](const Transfer& inner) { translate(inner, out); }, only);
    }

    void translate(Transfer transfer, Step& out) const {
        const Chunks chunks = transfer.chunks;
        transfer.from = group.members[static_cast<std::size_t>(transfer.from.index)];
        transfer.to = group.members[static_cast<std::size_t>(transfer.to.index)];
        if (group.pieces.empty()) {
            transfer.chunks = {chunks.first * parts, chunks.count * parts};
            return out.say(transfer);
        }
        for (int chunk = chunks.first; chunk < chunks.first + chunks.count; ++chunk)
            for (const Chunks& piece : group.pieces[static_cast<std::size_t>(chunk)]) {
                transfer.chunks = piece;
                out.say(transfer);
            }
    }
};

}  // namespace

std::vector<Chunks> runs_of(std::vector<Rank> ranks) {
    std::sort(ranks.begin(), ranks.end());
    std::vector<Chunks> runs;
    for (const Rank rank : ranks) {
        if (!runs.empty() && runs.back().first + runs.back().count == rank.index)
            ++runs.back().count;
        else
            runs.push_back(chunk_of(rank));
    }
    return runs;
}

Schedule on_each(int ranks, int chunks, const std::vector<Group>& groups,
                 const std::function<Schedule(int group_size)>& inner) {
    auto inners = std::make_shared<std::vector<Inner>>();
    Extent extent{.ranks = ranks, .chunks = chunks, .steps = 0};
    for (const Group& group : groups) {
        Inner one{group, inner(static_cast<int>(group.members.size())), {}};
        for (std::size_t seat = 0; seat < group.members.size(); ++seat)
            one.seat_of[group.members[seat].index] = static_cast<int>(seat);
        if (group.pieces.empty()) extent.chunks = std::lcm(extent.chunks, one.schedule.chunks());
        extent.steps = std::max(extent.steps, one.schedule.steps());
        inners->push_back(std::move(one));
    }
    for (Inner& one : *inners) one.parts = extent.chunks / one.schedule.chunks();
    return Schedule(extent, [inners](int step, Step& out) {
        for (const Inner& one : *inners) one.say(step, out);
    });
}

}  // namespace tutti
