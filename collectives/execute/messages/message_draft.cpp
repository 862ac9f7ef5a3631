// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/messages/message_draft.hpp"

#include <algorithm>
#include <cassert>
#include <unordered_map>
#include <utility>

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
        // In place, an all-to-all's input and output chunks overlap crosswise: read from a copy.
        copies_input_ = request.call.collective == Collective::all_to_all &&
                        !request.input.empty() && request.input.data() == request.output.data();
        if (!copies_input_) return;
        // Another lane could write the output, which is the input, before this one has its copy.
        assert(request.lanes.count == 1);
        const Spot copy{In::scratch, take_scratch(request_.input.size())};
        const DraftMove to_copy{copy, {{In::input, 0}}, request_.input.size()};
        draft_.steps.push_back({.number = 0, .moves = {to_copy}});
    }

    // The lane's part of the next step.
    void draft(int number, const RankStep& step) {
        DraftStep& draft = draft_.steps.emplace_back(DraftStep{.number = number});
        draft_sends(step, draft);
        draft_receives(step, draft);
    }

    MessageDraft finish() {
        settle();
        return std::move(draft_);
    }

private:
    using In = Spot::In;

    bool is_mine(int chunk) const { return request_.lanes.lane_of(chunk) == lane_; }

    Spot input_spot(std::size_t offset) const {
        return copies_input_ ? Spot{In::scratch, offset} : Spot{In::input, offset};
    }

    // Where the chunk's value is now; it is in the input until something arrives.
    Spot current(int chunk) {
        const auto known = current_.find(chunk);
        if (known != current_.end()) return known->second;
        // A schedule that is not proved may send what it does not hold: then what lies there goes.
        const auto in_input = layout_.in_input(chunk);
        return in_input ? input_spot(*in_input) : home(chunk);
    }

    // Where the chunk belongs: in the output, or in scratch if it only passes through.
    Spot home(int chunk) {
        if (const auto offset = layout_.in_output(chunk)) return {In::output, *offset};
        const auto [known, is_new] = passing_.try_emplace(chunk);
        if (is_new) known->second = {In::scratch, take_scratch(layout_.bytes_of(chunk))};
        return known->second;
    }

    std::size_t take_scratch(std::size_t bytes) {
        return std::exchange(draft_.scratch, draft_.scratch + bytes);
    }

    bool is_same_memory(Spot a, Spot b) const {
        if (a == b) return true;
        const auto address = [&](Spot s) -> const std::byte* {
            if (s.in == In::input) return request_.input.data() + s.offset;
            if (s.in == In::output) return request_.output.data() + s.offset;
            return nullptr;
        };
        return address(a) != nullptr && address(a) == address(b);
    }

    // Sent from where it lies if it lies together, else packed.
    void draft_sends(const RankStep& step, DraftStep& draft) {
        std::size_t outbox = 0;
        for (const auto& message : by_peer(step.sends)) {
            const Rank to = step.sends[message.front()].peer;
            std::vector<std::pair<Spot, std::size_t>> parts;
            for (const std::size_t i : message) {
                const int chunk = step.sends[i].chunk;
                if (const auto at = current(chunk);
                    !parts.empty() && parts.back().first.behind(parts.back().second) == at)
                    parts.back().second += layout_.bytes_of(chunk);
                else
                    parts.push_back({at, layout_.bytes_of(chunk)});
            }
            if (parts.size() == 1) {
                draft.sends.push_back({to, parts[0].first, parts[0].second});
                continue;
            }
            const Spot packed{In::outbox, outbox};
            for (const auto& [spot, bytes] : parts) {
                draft.packing.push_back({{In::outbox, outbox}, {spot}, bytes});
                outbox += bytes;
            }
            draft.sends.push_back({to, packed, outbox - packed.offset});
        }
        draft_.outbox = std::max(draft_.outbox, outbox);
    }

    void draft_receives(const RankStep& step, DraftStep& draft) {
        std::size_t inbox = 0;
        std::vector<Spot> arrived_at(step.receives.size(), Spot{In::inbox, 0});
        std::vector<bool> is_home(step.receives.size(), false);
        const auto traffic = traffic_of(step);
        for (const auto& message : by_peer(step.receives)) {
            const Rank from = step.receives[message.front()].peer;
            if (from == me_) {
                for (const std::size_t i : message) arrived_at[i] = current(step.receives[i].chunk);
                continue;
            }
            const bool in_place = arrives_in_place(step, message, traffic);
            const Spot start =
                in_place ? home(step.receives[message.front()].chunk) : Spot{In::inbox, inbox};
            std::size_t bytes = 0;
            for (const std::size_t i : message) {
                arrived_at[i] = start.behind(bytes);
                is_home[i] = in_place;
                bytes += layout_.bytes_of(step.receives[i].chunk);
            }
            draft.receives.push_back({from, start, bytes});
            if (!in_place) inbox += bytes;
        }
        draft_.inbox = std::max(draft_.inbox, inbox);
        draft_moves(step, arrived_at, is_home, draft);
    }

    // A message can be received where it belongs if it only brings copies, their places lie side by
    // side, nothing else arrives there, and the old values are not being sent in this step.
    bool arrives_in_place(const RankStep& step, const std::vector<std::size_t>& message,
                          const std::unordered_map<int, Traffic>& traffic) {
        std::optional<Spot> next;
        for (const std::size_t i : message) {
            const auto [chunk, peer, action] = step.receives[i];
            if (action == Action::reduce) return false;
            const Spot place = home(chunk);
            if (next && place != *next) return false;
            next = place.behind(layout_.bytes_of(chunk));
            const Traffic& of_chunk = traffic.at(chunk);
            if (of_chunk.receives > 1) return false;
            if (of_chunk.is_sent && is_same_memory(current(chunk), place)) return false;
        }
        return true;
    }

    // One move per chunk that something arrived for: its own value first unless a copy replaces it.
    void draft_moves(const RankStep& step, const std::vector<Spot>& arrived_at,
                     const std::vector<bool>& is_home, DraftStep& draft) {
        std::unordered_map<int, std::size_t> move_of;
        for (std::size_t i = 0; i < step.receives.size(); ++i) {
            const auto [chunk, peer, action] = step.receives[i];
            if (is_home[i]) continue;
            const auto [known, is_new] = move_of.try_emplace(chunk, draft.moves.size());
            if (is_new) {
                draft.moves.push_back({home(chunk), {}, layout_.bytes_of(chunk)});
                if (action == Action::reduce) draft.moves.back().sources.push_back(current(chunk));
            }
            draft.moves[known->second].sources.push_back(arrived_at[i]);
        }
        for (const RankTransfer& receive : step.receives)
            current_[receive.chunk] = home(receive.chunk);
    }

    // Results that still lie in the input go to the output.
    void settle() {
        for_each_output_chunk(spec_, me_, request_.schedule.chunks(), [&](int chunk) {
            if (layout_.bytes_of(chunk) == 0 || !is_mine(chunk)) return;
            const Spot at = current(chunk), belongs = home(chunk);
            if (!is_same_memory(at, belongs))
                draft_.settling.push_back({belongs, {at}, layout_.bytes_of(chunk)});
        });
    }

    const PlanRequest& request_;
    Rank me_;
    int lane_;
    CollectiveSpec spec_;
    Layout layout_;
    bool copies_input_ = false;
    std::unordered_map<int, Spot> current_, passing_;
    MessageDraft draft_;
};

// What a step asks of each lane.
void deal(const RankStep& step, const Lanes& lanes, std::vector<RankStep>& parts) {
    for (RankStep& part : parts) {
        part.sends.clear();
        part.receives.clear();
    }
    const auto part_of = [&](const RankTransfer& transfer) -> RankStep& {
        return parts[static_cast<std::size_t>(lanes.lane_of(transfer.chunk))];
    };
    for (const RankTransfer& transfer : step.sends) part_of(transfer).sends.push_back(transfer);
    for (const RankTransfer& transfer : step.receives)
        part_of(transfer).receives.push_back(transfer);
}

}  // namespace

std::vector<MessageDraft> draft_messages(const PlanRequest& request, Rank me) {
    std::vector<Drafter> drafters;
    for (int lane = 0; lane < request.lanes.count; ++lane) drafters.emplace_back(request, me, lane);
    const CollectiveSpec spec{request.call.collective, request.schedule.ranks(), request.call.root};
    const Layout layout(request.call, spec, me, request.schedule.chunks());
    RankStep step;
    std::vector<RankStep> parts(drafters.size());
    for (int number = 0; number < request.schedule.steps(); ++number) {
        read_step(request.schedule, number, me, layout, step);
        deal(step, request.lanes, parts);
        for (std::size_t lane = 0; lane < drafters.size(); ++lane)
            if (!parts[lane].is_empty()) drafters[lane].draft(number, parts[lane]);
    }
    std::vector<MessageDraft> drafts;
    for (Drafter& drafter : drafters) drafts.push_back(drafter.finish());
    return drafts;
}

}  // namespace tutti
