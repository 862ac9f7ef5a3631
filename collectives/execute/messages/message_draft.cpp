// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/messages/message_draft.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/index.hpp"
#include "base/rounding.hpp"

namespace tutti {
namespace {

// The length of chunks one after another; the last ones have consecutive numbers.
struct Row {
    CallSize before = {};  // length of those before the last ones
    int first = 0;         // the first of the last ones
    int count = 0;
};

// Collects the sizes of a draft, each of them once.
class SizeDrafter {
public:
    using Is = MessageSizes::Entry::Is;

    SizeDrafter(const CollectiveSpec& spec, Rank me, const PlanRequest& request)
        : sizes_{.spec = spec, .me = me, .chunks = request.schedule.chunks()},
          per_block_(sizes_.chunks / static_cast<int>(spec.blocks())),
          most_of_block_(as_size(request.call.count) * size_of(request.call.type)) {
        number_of(Is::before_chunk, 0);
    }

    CallSize offset(BufferSide side, int position) {
        return number_of(side == BufferSide::input ? Is::in_input : Is::in_output, position);
    }

    void extend(Row& row, int chunk) {
        if (row.count > 0 && row.first + row.count != chunk) row = {.before = length(row)};
        if (row.count == 0) row.first = chunk;
        ++row.count;
    }

    CallSize length(const Row& row) {
        if (row.count == 0) return row.before;
        const CallSize from = number_of(Is::before_chunk, row.first),
                       to = number_of(Is::before_chunk, row.first + row.count);
        if (row.before == CallSize{} && from == CallSize{}) return to;
        const auto [known, is_new] = sums_.try_emplace({row.before, to, from}, next());
        if (is_new)
            add({.is = Is::sum, .base = row.before, .to = to, .from = from},
                most(row.before) + most_of(row.first, row.count));
        return known->second;
    }

    std::size_t most(CallSize size) const { return at(sizes_.most, size.index); }

    MessageSizes finish() { return std::move(sizes_); }

private:
    static constexpr std::size_t most_element = 16;  // bytes of the largest type, or more

    CallSize next() const { return {static_cast<std::uint32_t>(sizes_.entries.size())}; }

    void add(const MessageSizes::Entry& entry, std::size_t most) {
        sizes_.entries.push_back(entry);
        sizes_.most.push_back(most);
    }

    CallSize number_of(Is is, int number) {
        const auto [known, is_new] = numbers_.try_emplace({is, number}, next());
        if (is_new) add({.is = is, .number = number}, most_of(0, number));
        return known->second;
    }

    // Returns the most bytes of chunks one after another. Those of a part of a block are rounded to
    // elements.
    std::size_t most_of(int first, int count) const {
        const auto parts = [&](int chunks) {
            return chunks == 0 || most_of_block_ == 0
                       ? 0
                       : divide_up(as_size(chunks) * most_of_block_, as_size(per_block_)) +
                             most_element;
        };
        const int before = std::min(count, (per_block_ - first % per_block_) % per_block_);
        const int whole = (count - before) / per_block_, after = (count - before) % per_block_;
        return parts(before) + as_size(whole) * most_of_block_ + parts(after);
    }

    MessageSizes sizes_;
    int per_block_;
    std::size_t most_of_block_;
    std::map<std::pair<Is, int>, CallSize> numbers_;
    std::map<std::tuple<CallSize, CallSize, CallSize>, CallSize> sums_;
};

// A location before offsets are known. In the caller's buffers the number is a position, see
// Positions; in other memory it counts the chunks there. So neighbouring numbers are neighbouring
// memory in calls of any length. In place, all places in the caller's memory are in one buffer.
struct ChunkPlace {
    Place::In in = Place::In::plan;
    int number = 0;

    ChunkPlace after(int chunks) const { return {in, number + chunks}; }
    bool operator==(const ChunkPlace&) const = default;
};

// A move of one chunk.
struct ChunkMove {
    int chunk;
    ChunkPlace out;
    std::vector<ChunkPlace> sources;

    // Whether the other one takes place that many chunks later in all memories.
    bool is_followed(int chunks, const ChunkMove& next) const {
        return next.out == out.after(chunks) &&
               std::ranges::equal(next.sources, sources, {}, {},
                                  [&](ChunkPlace source) { return source.after(chunks); });
    }
};

// Chunks one after another in a memory of the plan.
struct ChunkList {
    std::vector<Row> starts;
    Row all;

    // Adds a chunk and returns its number.
    int add(int chunk, SizeDrafter& sizes) {
        starts.push_back(all);
        sizes.extend(all, chunk);
        return int_size(starts) - 1;
    }
};

class Drafter {
public:
    Drafter(const PlanRequest& request, Rank me, int lane)
        : request_(request),
          me_(me),
          lane_(lane),
          spec_(request.call.collective, request.schedule.ranks(), request.call.root),
          positions_(spec_, me, request.schedule.chunks()),
          sizes_(spec_, me, request) {
        if (!request.buffers.in_place || spec_.input_blocks(me) == 0 ||
            spec_.output_blocks(me) == 0)
            return;
        // In place, the larger buffer holds both.
        const bool is_input_larger = spec_.input_blocks(me) > spec_.output_blocks(me);
        const In both = is_input_larger ? In::input : In::output;
        input_ = {both, positions_.first_input_in_place()};
        output_ = {both, positions_.first_output_in_place()};
        if (!spec_.exchanges()) return;
        // An exchange's input and output chunks overlap crosswise, so it reads from a copy.
        // Another lane could write the output, which is the input, before this lane has its copy.
        assert(request.lanes.count == 1);
        std::vector<ChunkMove> copies;
        for (int chunk = 0; chunk < request.schedule.chunks(); ++chunk)
            if (const auto position = positions_.in_input(chunk))
                copies.push_back({chunk,
                                  {Place::In::plan, in_plan_.add(chunk, sizes_)},
                                  {input_.after(*position)}});
        steps_.push_back({.number = 0, .moves = joined(copies)});
        input_ = copies.front().out;
    }

    // Drafts the lane's part of the next step.
    void draft(const RankStep& step) {
        DraftStep& draft = steps_.emplace_back(DraftStep{.number = step.number});
        draft_sends(step, draft);
        draft_receives(step, draft);
    }

    MessageDraft finish() {
        const std::vector<DraftMove> settling = joined(settling_copies());
        const std::size_t plan = most(in_plan_.all);
        return {.sizes = sizes_.finish(),
                .steps = std::move(steps_),
                .settling = settling,
                .plan = plan,
                .inbox = most_of_inbox_,
                .outbox = most_of_outbox_};
    }

private:
    using In = Place::In;

    bool is_mine(int chunk) const { return request_.lanes.lane_of(chunk) == lane_; }
    std::size_t most(const Row& row) { return sizes_.most(sizes_.length(row)); }

    // Returns where the chunk's value is now; it is in the input until something arrives.
    ChunkPlace current(int chunk) {
        const auto known = current_.find(chunk);
        if (known != current_.end()) return known->second;
        // A schedule that is not proved may send chunks that it does not hold: then any bytes are
        // sent.
        const auto in_input = positions_.in_input(chunk);
        return in_input ? input_.after(*in_input) : destination(chunk);
    }

    // Returns where the chunk ends: in the output, or in the plan's memory if it is in transit.
    ChunkPlace destination(int chunk) {
        if (const auto position = positions_.in_output(chunk)) return output_.after(*position);
        const auto [known, is_new] = transit_.try_emplace(chunk);
        if (is_new) known->second = {In::plan, in_plan_.add(chunk, sizes_)};
        return known->second;
    }

    DraftPlace with_offset(ChunkPlace place) {
        const auto in_list = [&](const ChunkList& list) {
            return DraftPlace{place.in, sizes_.length(at(list.starts, place.number))};
        };
        if (place.in == In::plan) return in_list(in_plan_);
        if (place.in == In::inbox) return in_list(inbox_);
        return {place.in,
                sizes_.offset(place.in == In::input ? BufferSide::input : BufferSide::output,
                              place.number)};
    }

    // Joins the moves of chunks that are neighbours in all memories. Omits copies to the same
    // place.
    std::vector<DraftMove> joined(std::vector<ChunkMove> moves) {
        std::erase_if(moves, [](const ChunkMove& move) {
            return move.sources.size() == 1 && move.sources.front() == move.out;
        });
        std::vector<DraftMove> drafts;
        for (std::size_t i = 0; i < moves.size();) {
            const ChunkMove& first = moves[i];
            DraftMove& draft = drafts.emplace_back(DraftMove{with_offset(first.out), {}, {}});
            for (const ChunkPlace source : first.sources)
                draft.sources.push_back(with_offset(source));
            Row row;
            int chunks = 0;
            do {
                sizes_.extend(row, moves[i++].chunk);
                ++chunks;
            } while (i < moves.size() && first.is_followed(chunks, moves[i]));
            draft.bytes = sizes_.length(row);
        }
        return drafts;
    }

    // Chunks of a message that lie together, and the first one's place if they are packed.
    struct Part {
        ChunkPlace begin;
        Row packed_at;
        int chunks = 0;
        Row row = {};
    };

    // Sends messages from where they lie if they are contiguous, else packs them.
    void draft_sends(const RankStep& step, DraftStep& draft) {
        Row outbox;
        for (const auto& message : by_peer(step.sends)) {
            const Rank to = step.sends[message.front()].peer;
            std::vector<Part> parts;
            Row all, packed = outbox;
            for (const std::size_t i : message) {
                const int chunk = step.sends[i].chunk;
                const ChunkPlace now = current(chunk);
                if (parts.empty() || parts.back().begin.after(parts.back().chunks) != now)
                    parts.push_back({now, packed});
                ++parts.back().chunks;
                for (Row* row : {&parts.back().row, &packed, &all}) sizes_.extend(*row, chunk);
            }
            DraftPlace place = with_offset(parts.front().begin);
            if (parts.size() > 1) {
                place = {In::outbox, sizes_.length(std::exchange(outbox, packed))};
                for (const Part& part : parts)
                    draft.packing.push_back({{In::outbox, sizes_.length(part.packed_at)},
                                             {with_offset(part.begin)},
                                             sizes_.length(part.row)});
            }
            draft.sends.push_back({to, place, sizes_.length(all)});
        }
        most_of_outbox_ = std::max(most_of_outbox_, most(outbox));
    }

    void draft_receives(const RankStep& step, DraftStep& draft) {
        inbox_ = {};
        std::vector<ChunkPlace> arrived_at(step.receives.size());
        std::vector<bool> in_place(step.receives.size(), false);
        const auto traffic = traffic_of(step);
        for (const auto& message : by_peer(step.receives)) {
            const Rank from = step.receives[message.front()].peer;
            if (from == me_) {
                for (const std::size_t i : message) arrived_at[i] = current(step.receives[i].chunk);
                continue;
            }
            const bool arrives_at_destination = can_arrive_at_destination(step, message, traffic);
            Row all;
            for (const std::size_t i : message) {
                const int chunk = step.receives[i].chunk;
                in_place[i] = arrives_at_destination;
                arrived_at[i] = arrives_at_destination
                                    ? destination(chunk)
                                    : ChunkPlace{In::inbox, inbox_.add(chunk, sizes_)};
                sizes_.extend(all, chunk);
            }
            draft.receives.push_back(
                {from, with_offset(arrived_at[message.front()]), sizes_.length(all)});
        }
        most_of_inbox_ = std::max(most_of_inbox_, most(inbox_.all));
        draft_moves(step, arrived_at, in_place, draft);
    }

    // A message can be received at its destination if it only brings copies, their places are
    // contiguous, nothing else arrives there, and the old values are not being sent in this step.
    bool can_arrive_at_destination(const RankStep& step, const std::vector<std::size_t>& message,
                                   const std::unordered_map<int, Traffic>& traffic) {
        std::optional<ChunkPlace> next;
        for (const std::size_t i : message) {
            const auto [chunk, peer, action] = step.receives[i];
            if (action == Action::reduce) return false;
            const ChunkPlace place = destination(chunk);
            if (next && place != *next) return false;
            next = place.after(1);
            const Traffic& of_chunk = traffic.at(chunk);
            if (of_chunk.receives > 1) return false;
            if (of_chunk.is_sent && current(chunk) == place) return false;
        }
        return true;
    }

    // Makes one move per chunk that arrived: its own value comes first unless a copy replaces it.
    void draft_moves(const RankStep& step, const std::vector<ChunkPlace>& arrived_at,
                     const std::vector<bool>& in_place, DraftStep& draft) {
        std::vector<ChunkMove> moves;
        std::unordered_map<int, std::size_t> move_of;
        for (std::size_t i = 0; i < step.receives.size(); ++i) {
            const auto [chunk, peer, action] = step.receives[i];
            if (in_place[i]) continue;
            const auto [known, is_new] = move_of.try_emplace(chunk, moves.size());
            if (is_new) {
                moves.push_back({chunk, destination(chunk), {}});
                if (action == Action::reduce) moves.back().sources.push_back(current(chunk));
            }
            moves[known->second].sources.push_back(arrived_at[i]);
        }
        draft.moves = joined(moves);
        for (const RankTransfer& receive : step.receives)
            current_[receive.chunk] = destination(receive.chunk);
    }

    // Returns copies of all results to the output, also of those that are there.
    std::vector<ChunkMove> settling_copies() {
        std::vector<ChunkMove> moves;
        for_each_output_chunk(spec_, me_, request_.schedule.chunks(), [&](int chunk) {
            if (!is_mine(chunk)) return;
            moves.push_back({chunk, destination(chunk), {current(chunk)}});
        });
        return moves;
    }

    const PlanRequest& request_;
    Rank me_;
    int lane_;
    CollectiveSpec spec_;
    Positions positions_;
    ChunkPlace input_{In::input, 0}, output_{In::output, 0};  // begin of both
    SizeDrafter sizes_;
    std::unordered_map<int, ChunkPlace> current_, transit_;
    ChunkList in_plan_, inbox_;  // the inbox of the current step
    std::vector<DraftStep> steps_;
    std::size_t most_of_inbox_ = 0, most_of_outbox_ = 0;
};

// Splits a step into the parts of the lanes.
void distribute(const RankStep& step, const Lanes& lanes, std::vector<RankStep>& parts) {
    for (RankStep& part : parts) {
        part.number = step.number;
        part.sends.clear();
        part.receives.clear();
    }
    const auto part_of = [&](const RankTransfer& transfer) -> RankStep& {
        return at(parts, lanes.lane_of(transfer.chunk));
    };
    for (const RankTransfer& transfer : step.sends) part_of(transfer).sends.push_back(transfer);
    for (const RankTransfer& transfer : step.receives)
        part_of(transfer).receives.push_back(transfer);
}

}  // namespace

void MessageSizes::evaluate(const Call& call, std::span<std::size_t> bytes) const {
    const Layout layout(call, spec, me, chunks);
    const auto known = [&](CallSize size) { return bytes[size.index]; };
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const Entry& entry = entries[i];
        switch (entry.is) {
            case Entry::Is::in_input:
                bytes[i] = layout.offset_of(BufferSide::input, entry.number);
                break;
            case Entry::Is::in_output:
                bytes[i] = layout.offset_of(BufferSide::output, entry.number);
                break;
            case Entry::Is::before_chunk:
                bytes[i] = layout.bytes_before(entry.number);
                break;
            case Entry::Is::sum:
                bytes[i] = known(entry.base) + known(entry.to) - known(entry.from);
        }
    }
}

std::vector<MessageDraft> draft_messages(const PlanRequest& request, Rank me) {
    std::vector<Drafter> drafters;
    for (int lane = 0; lane < request.lanes.count; ++lane) drafters.emplace_back(request, me, lane);
    std::vector<RankStep> parts(drafters.size());
    for (const RankStep& step : rank_steps(request, me)) {
        distribute(step, request.lanes, parts);
        for (std::size_t lane = 0; lane < drafters.size(); ++lane)
            if (!parts[lane].is_empty()) drafters[lane].draft(parts[lane]);
    }
    std::vector<MessageDraft> drafts;
    for (Drafter& drafter : drafters) drafts.push_back(drafter.finish());
    return drafts;
}

}  // namespace tutti
