// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/compose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>

#include "base/error.hpp"
#include "base/index.hpp"

namespace tutti {

namespace {

// Chunks are counted in int.
int countable(std::int64_t chunks) {
    if (chunks > std::numeric_limits<int>::max())
        throw Error(fmt::format(
            "the schedule would have {} chunks; use fewer ranks, segments or channels", chunks));
    return static_cast<int>(chunks);
}

}  // namespace

Schedule pipelined(const Schedule& schedule, int segments) {
    if (segments <= 1 || schedule.steps() == 0) return schedule;
    const Extent extent{.ranks = schedule.ranks(),
                        .chunks = countable(std::int64_t{schedule.chunks()} * segments),
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
                        out.add(transfer);
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
                out.add(transfer);
            },
            out.only());
    });
}

Schedule without_returns(const Schedule& schedule, const CollectiveSpec& spec) {
    const Extent extent{schedule.ranks(), schedule.chunks(), schedule.steps()};
    const std::int64_t chunks_per_block = schedule.chunks() / spec.blocks();
    return Schedule(extent, [=](int step, Step& out) {
        schedule.visit(
            step,
            [&](Transfer transfer) {
                const int end = transfer.chunks.first + transfer.chunks.count;
                Chunks& run = transfer.chunks;  // chunks to send, up to the receiver's next own one
                run.count = 0;
                for (int chunk = run.first; chunk < end; ++chunk) {
                    if (!spec.starts_complete(transfer.to, chunk / chunks_per_block)) {
                        ++run.count;
                        continue;
                    }
                    out.add(transfer);
                    run = {chunk + 1, 0};
                }
                out.add(transfer);
            },
            out.only());
    });
}

namespace {

// A schedule for one group, and the mapping of its ranks and chunks to those of the whole.
struct Inner {
    Group group;
    Schedule schedule;
    int parts = 1;  // chunks of the whole per chunk of the group, if both cut the message alike

    void write_step(int step, Step& out, std::optional<Rank> only = {}) const {
        if (step >= schedule.steps()) return;
        schedule.visit(
            step, [&](const Transfer& inner) { translate(inner, out); }, only);
    }

    void translate(Transfer transfer, Step& out) const {
        const Chunks chunks = transfer.chunks;
        transfer.from = at(group.members, transfer.from);
        transfer.to = at(group.members, transfer.to);
        if (group.pieces.empty()) {
            transfer.chunks = {chunks.first * parts, chunks.count * parts};
            return out.add(transfer);
        }
        for (int chunk = chunks.first; chunk < chunks.first + chunks.count; ++chunk)
            for (const Chunks& piece : at(group.pieces, chunk)) {
                transfer.chunks = piece;
                out.add(transfer);
            }
    }
};

// A rank of the whole in one of its groups.
struct Membership {
    Rank rank;
    int group;
    Rank inner;
    auto operator<=>(const Membership&) const = default;
};

struct InnerSchedules {
    std::vector<Inner> groups;
    std::vector<Membership> memberships;  // sorted, so that those of a rank are found at once

    void write_step(int step, Step& out) const {
        if (!out.only()) {
            for (const Inner& group : groups) group.write_step(step, out);
            return;
        }
        for (const Membership& one :
             std::ranges::equal_range(memberships, *out.only(), {}, &Membership::rank))
            at(groups, one.group).write_step(step, out, one.inner);
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

std::array<Chunks, 2> around(Chunks run, Rank own) {
    const int end = run.first + run.count;
    const int before = std::clamp(own.index, run.first, end);
    const int after = std::clamp(own.index + 1, run.first, end);
    return {Chunks{run.first, before - run.first}, Chunks{after, end - after}};
}

Schedule on_each(int ranks, int chunks, const std::vector<Group>& groups,
                 const std::function<Schedule(int group_size)>& inner) {
    auto all = std::make_shared<InnerSchedules>();
    Extent extent{.ranks = ranks, .chunks = chunks, .steps = 0};
    for (const Group& group : groups) {
        const int size = int_size(group.members);
        Inner& one = all->groups.emplace_back(Inner{group, inner(size)});
        for (const Rank member : all_ranks(size))
            all->memberships.push_back(
                {at(group.members, member), int_size(all->groups) - 1, member});
        if (group.pieces.empty()) extent.chunks = std::lcm(extent.chunks, one.schedule.chunks());
        extent.steps = std::max(extent.steps, one.schedule.steps());
    }
    for (Inner& one : all->groups) one.parts = extent.chunks / one.schedule.chunks();
    std::ranges::sort(all->memberships);
    return Schedule(extent, [all](int step, Step& out) { all->write_step(step, out); });
}

namespace {

// Maps positions to ranks, and the blocks of positions to the blocks of those ranks.
class Reordering {
public:
    Reordering(const std::vector<Rank>& order, int chunks, Collective collective)
        : rank_at_(order),
          position_of_(order.size()),
          per_pair_(collective == Collective::all_to_all) {
        for (std::size_t position = 0; position < order.size(); ++position)
            at(position_of_, order[position]) = static_cast<int>(position);
        const auto blocks = CollectiveSpec{collective, ranks()}.blocks();
        chunks_per_block_ = blocks == 1 ? 0 : static_cast<int>(chunks / blocks);
    }

    Rank rank_at(Rank position) const { return at(rank_at_, position); }
    Rank position_of(Rank rank) const { return {at(position_of_, rank)}; }

    // Adds the transfer with its chunks renamed, in runs while they stay contiguous.
    void add(Transfer transfer, Step& out) const {
        if (chunks_per_block_ == 0) return out.add(transfer);  // a single block belongs to no rank
        const int end = transfer.chunks.first + transfer.chunks.count;
        Chunks run{0, 0};
        for (int chunk = transfer.chunks.first; chunk < end;) {
            const int within = chunk % chunks_per_block_;
            const Chunks part{block(chunk / chunks_per_block_) * chunks_per_block_ + within,
                              std::min(chunks_per_block_ - within, end - chunk)};
            chunk += part.count;
            if (run.count > 0 && run.first + run.count == part.first) {
                run.count += part.count;
                continue;
            }
            transfer.chunks = run;
            out.add(transfer);
            run = part;
        }
        transfer.chunks = run;
        out.add(transfer);
    }

private:
    int ranks() const { return int_size(rank_at_); }

    int block(int of_positions) const {
        const auto rank = [&](int position) { return rank_at(Rank{position}).index; };
        if (!per_pair_) return rank(of_positions);
        return rank(of_positions / ranks()) * ranks() + rank(of_positions % ranks());
    }

    std::vector<Rank> rank_at_;
    std::vector<int> position_of_;
    bool per_pair_;
    int chunks_per_block_;
};

}  // namespace

Schedule reordered(const Schedule& schedule, const std::vector<Rank>& order,
                   Collective collective) {
    const auto ranks = std::make_shared<Reordering>(order, schedule.chunks(), collective);
    const Extent extent{schedule.ranks(), schedule.chunks(), schedule.steps()};
    return Schedule(extent, [=](int step, Step& out) {
        std::optional<Rank> only;
        if (out.only()) only = ranks->position_of(*out.only());
        schedule.visit(
            step,
            [&](Transfer transfer) {
                transfer.from = ranks->rank_at(transfer.from);
                transfer.to = ranks->rank_at(transfer.to);
                ranks->add(transfer, out);
            },
            only);
    });
}

Schedule side_by_side(const std::vector<Schedule>& shares, int blocks) {
    int part = 1, steps = 0;  // chunks of one share in one block
    for (const Schedule& share : shares) {
        part = std::lcm(part, share.chunks() / blocks);
        steps = std::max(steps, share.steps());
    }
    const int count = int_size(shares);
    const Extent extent{shares.front().ranks(), countable(std::int64_t{blocks} * count * part),
                        steps};
    const auto all = std::make_shared<const std::vector<Schedule>>(shares);
    return Schedule(extent, [=](int step, Step& out) {
        for (int number = 0; number < count; ++number) {
            const Schedule& share = at(*all, number);
            if (step >= share.steps()) continue;
            const int in_block = share.chunks() / blocks;
            const int parts = part / in_block;
            share.visit(
                step,
                [&](Transfer transfer) {
                    const int end = transfer.chunks.first + transfer.chunks.count;
                    for (int chunk = transfer.chunks.first; chunk < end;) {  // block by block
                        const int within = chunk % in_block;
                        const int run = std::min(in_block - within, end - chunk);
                        const int block = chunk / in_block;
                        transfer.chunks = {(block * count + number) * part + within * parts,
                                           run * parts};
                        out.add(transfer);
                        chunk += run;
                    }
                },
                out.only());
        }
    });
}

}  // namespace tutti
