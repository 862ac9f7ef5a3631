// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/reorder.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "collectives/schedule/collective_spec.hpp"

namespace tutti {
namespace {

// Ranks at positions, and what becomes of the blocks.
class Reordering {
public:
    Reordering(const std::vector<Rank>& order, int chunks, Collective collective)
        : rank_at_(order),
          position_of_(order.size()),
          per_pair_(collective == Collective::all_to_all) {
        for (std::size_t position = 0; position < order.size(); ++position)
            position_of_[static_cast<std::size_t>(order[position].index)] =
                static_cast<int>(position);
        const auto blocks = CollectiveSpec{collective, ranks()}.blocks();
        chunks_per_block_ = blocks == 1 ? 0 : static_cast<int>(chunks / blocks);
    }

    Rank rank_at(Rank position) const { return rank_at_[static_cast<std::size_t>(position.index)]; }
    Rank position_of(Rank rank) const {
        return {position_of_[static_cast<std::size_t>(rank.index)]};
    }

    // Says the transfer with its chunks renamed, in runs as long as they stay together.
    void say(Transfer transfer, Step& out) const {
        if (chunks_per_block_ == 0) return out.say(transfer);  // the message is nobody's
        const int end = transfer.chunks.first + transfer.chunks.count;
        Chunks run{0, 0};
        for (int at = transfer.chunks.first; at < end;) {
            const int within = at % chunks_per_block_;
            const Chunks part{block(at / chunks_per_block_) * chunks_per_block_ + within,
                              std::min(chunks_per_block_ - within, end - at)};
            at += part.count;
            if (run.count > 0 && run.first + run.count == part.first) {
                run.count += part.count;
                continue;
            }
            transfer.chunks = run;
            out.say(transfer);
            run = part;
        }
        transfer.chunks = run;
        out.say(transfer);
    }

private:
    int ranks() const { return static_cast<int>(rank_at_.size()); }

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
    const auto seating = std::make_shared<Reordering>(order, schedule.chunks(), collective);
    const Extent extent{schedule.ranks(), schedule.chunks(), schedule.steps()};
    return Schedule(extent, [=](int step, Step& out) {
        std::optional<Rank> only;
        if (out.only()) only = seating->position_of(*out.only());
        schedule.visit(
            step,
            [&](Transfer transfer) {
                transfer.from = seating->rank_at(transfer.from);
                transfer.to = seating->rank_at(transfer.to);
                seating->say(transfer, out);
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
    const auto count = static_cast<int>(shares.size());
    const Extent extent{shares.front().ranks(), blocks * count * part, steps};
    const auto all = std::make_shared<const std::vector<Schedule>>(shares);
    return Schedule(extent, [=](int step, Step& out) {
        for (int number = 0; number < count; ++number) {
            const Schedule& share = (*all)[static_cast<std::size_t>(number)];
            if (step >= share.steps()) continue;
            const int in_block = share.chunks() / blocks;
            const int parts = part / in_block;
            share.visit(
                step,
                [&](Transfer transfer) {
                    const int end = transfer.chunks.first + transfer.chunks.count;
                    for (int at = transfer.chunks.first; at < end;) {  // block by block
                        const int within = at % in_block;
                        const int run = std::min(in_block - within, end - at);
                        const int block = at / in_block;
                        transfer.chunks = {(block * count + number) * part + within * parts,
                                           run * parts};
                        out.say(transfer);
                        at += run;
                    }
                },
                out.only());
        }
    });
}

}  // namespace tutti
