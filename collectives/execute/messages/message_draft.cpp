// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/messages/message_draft.hpp"

#include <algorithm>
#include <cassert>
#include <unordered_map>
#include <utility>

#include "base/index.hpp"

namespace tutti {
namespace {

class Drafter {
public:
    Drafter(const PlanRequest& request, Rank me, int lane)
        : request_(request),
          me_(me),
          lane_(lane),
          spec_(request.call.collective, request.schedule.ranks(), request.call.root),
          layout_(request.call, spec_, me, request.schedule.chunks()) {
        // In place, an exchange's input and output chunks overlap crosswise, so it reads from a
        // copy.
        const CallBuffers& buffers = request.buffers;
        copies_input_ = spec_.exchanges() && !buffers.input.empty() &&
                        buffers.input.data() == buffers.output.data();
        if (!copies_input_) return;
        // Another lane could write the output, which is the input, before this lane has its copy.
        assert(request.lanes.count == 1);
        const Place copy{In::plan, take_plan_memory(buffers.input.size())};
        const DraftMove to_copy{copy, {{In::input, 0}}, buffers.input.size()};
        draft_.steps.push_back({.number = 0, .moves = {to_copy}});
    }

    // Drafts the lane's part of the next step.
    void draft(const RankStep& step) {
        DraftStep& draft = draft_.steps.emplace_back(DraftStep{.number = step.number});
        draft_sends(step, draft);
        draft_receives(step, draft);
    }

    MessageDraft finish() {
        settle();
        return std::move(draft_);
    }

private:
    using In = Place::In;

    bool is_mine(int chunk) const { return request_.lanes.lane_of(chunk) == lane_; }

    Place input_place(std::size_t offset) const {
        return copies_input_ ? Place{In::plan, offset} : Place{In::input, offset};
    }

    // Returns where the chunk's value is now; it is in the input until something arrives.
    Place current(int chunk) {
        const auto known = current_.find(chunk);
        if (known != current_.end()) return known->second;
        // A schedule that is not proved may send chunks that it does not hold: then any bytes are
        // sent.
        const auto in_input = layout_.in_input(chunk);
        return in_input ? input_place(*in_input) : destination(chunk);
    }

    // Returns where the chunk ends: in the output, or in the plan's memory if it is in transit.
    Place destination(int chunk) {
        if (const auto offset = layout_.in_output(chunk)) return {In::output, *offset};
        const auto [known, is_new] = transit_.try_emplace(chunk);
        if (is_new) known->second = {In::plan, take_plan_memory(layout_.bytes_of(chunk))};
        return known->second;
    }

    std::size_t take_plan_memory(std::size_t bytes) {
        return std::exchange(draft_.plan, draft_.plan + bytes);
    }

    bool is_same_memory(Place a, Place b) const {
        if (a == b) return true;
        const auto address = [&](Place s) -> const std::byte* {
            if (s.in == In::input) return request_.buffers.input.data() + s.offset;
            if (s.in == In::output) return request_.buffers.output.data() + s.offset;
            return nullptr;
        };
        return address(a) != nullptr && address(a) == address(b);
    }

    // Sends messages from where they lie if they are contiguous, else packs them.
    void draft_sends(const RankStep& step, DraftStep& draft) {
        std::size_t outbox = 0;
        for (const auto& message : by_peer(step.sends)) {
            const Rank to = step.sends[message.front()].peer;
            std::vector<std::pair<Place, std::size_t>> parts;
            for (const std::size_t i : message) {
                const int chunk = step.sends[i].chunk;
                if (const Place now = current(chunk);
                    !parts.empty() && parts.back().first.after(parts.back().second) == now)
                    parts.back().second += layout_.bytes_of(chunk);
                else
                    parts.push_back({now, layout_.bytes_of(chunk)});
            }
            if (parts.size() == 1) {
                draft.sends.push_back({to, parts[0].first, parts[0].second});
                continue;
            }
            const Place packed{In::outbox, outbox};
            for (const auto& [place, bytes] : parts) {
                draft.packing.push_back({{In::outbox, outbox}, {place}, bytes});
                outbox += bytes;
            }
            draft.sends.push_back({to, packed, outbox - packed.offset});
        }
        draft_.outbox = std::max(draft_.outbox, outbox);
    }

    void draft_receives(const RankStep& step, DraftStep& draft) {
        std::size_t inbox = 0;
        std::vector<Place> arrived_at(step.receives.size(), Place{In::inbox, 0});
        std::vector<bool> in_place(step.receives.size(), false);
        const auto traffic = traffic_of(step);
        for (const auto& message : by_peer(step.receives)) {
            const Rank from = step.receives[message.front()].peer;
            if (from == me_) {
                for (const std::size_t i : message) arrived_at[i] = current(step.receives[i].chunk);
                continue;
            }
            const bool arrives_at_destination = can_arrive_at_destination(step, message, traffic);
            const Place start = arrives_at_destination
                                    ? destination(step.receives[message.front()].chunk)
                                    : Place{In::inbox, inbox};
            std::size_t bytes = 0;
            for (const std::size_t i : message) {
                arrived_at[i] = start.after(bytes);
                in_place[i] = arrives_at_destination;
                bytes += layout_.bytes_of(step.receives[i].chunk);
            }
            draft.receives.push_back({from, start, bytes});
            if (!arrives_at_destination) inbox += bytes;
        }
        draft_.inbox = std::max(draft_.inbox, inbox);
        draft_moves(step, arrived_at, in_place, draft);
    }

    // A message can be received at its destination if it only brings copies, their places are
    // contiguous, nothing else arrives there, and the old values are not being sent in this step.
    bool can_arrive_at_destination(const RankStep& step, const std::vector<std::size_t>& message,
                                   const std::unordered_map<int, Traffic>& traffic) {
        std::optional<Place> next;
        for (const std::size_t i : message) {
            const auto [chunk, peer, action] = step.receives[i];
            if (action == Action::reduce) return false;
            const Place place = destination(chunk);
            if (next && place != *next) return false;
            next = place.after(layout_.bytes_of(chunk));
            const Traffic& of_chunk = traffic.at(chunk);
            if (of_chunk.receives > 1) return false;
            if (of_chunk.is_sent && is_same_memory(current(chunk), place)) return false;
        }
        return true;
    }

    // Makes one move per chunk that arrived: its own value comes first unless a copy replaces it.
    void draft_moves(const RankStep& step, const std::vector<Place>& arrived_at,
                     const std::vector<bool>& in_place, DraftStep& draft) {
        std::unordered_map<int, std::size_t> move_of;
        for (std::size_t i = 0; i < step.receives.size(); ++i) {
            const auto [chunk, peer, action] = step.receives[i];
            if (in_place[i]) continue;
            const auto [known, is_new] = move_of.try_emplace(chunk, draft.moves.size());
            if (is_new) {
                draft.moves.push_back({destination(chunk), {}, layout_.bytes_of(chunk)});
                if (action == Action::reduce) draft.moves.back().sources.push_back(current(chunk));
            }
            draft.moves[known->second].sources.push_back(arrived_at[i]);
        }
        for (const RankTransfer& receive : step.receives)
            current_[receive.chunk] = destination(receive.chunk);
    }

    // Copies results that are still in the input to the output.
    void settle() {
        for_each_output_chunk(spec_, me_, request_.schedule.chunks(), [&](int chunk) {
            if (layout_.bytes_of(chunk) == 0 || !is_mine(chunk)) return;
            const Place now = current(chunk), end = destination(chunk);
            if (!is_same_memory(now, end))
                draft_.settling.push_back({end, {now}, layout_.bytes_of(chunk)});
        });
    }

    const PlanRequest& request_;
    Rank me_;
    int lane_;
    CollectiveSpec spec_;
    Layout layout_;
    bool copies_input_ = false;
    std::unordered_map<int, Place> current_, transit_;
    MessageDraft draft_;
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
