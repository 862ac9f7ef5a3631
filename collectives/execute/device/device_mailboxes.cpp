// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/device/device_mailboxes.hpp"

#include "base/rounding.hpp"
#include "collectives/execute/plan/exchange_lists.hpp"

namespace tutti {
namespace {

constexpr std::size_t line = 256;  // between things of different use

std::size_t whole_lines(std::size_t bytes) { return round_up(bytes, line); }

// Of one of the two sets.
std::size_t size_of_lines(std::size_t bytes) { return (bytes + 7) / 8 * sizeof(DeviceLine); }

}  // namespace

LetterDraft::LetterDraft(const PlanRequest& request, World& world)
    : me_(world.rank()),
      type_(request.call.type),
      op_(request.call.op),
      steps_(request.schedule.steps()),
      draft_(std::move(draft_messages(request, me_).front())) {
    inbox_ = whole_lines(draft_.scratch);
    outbox_ = inbox_ + whole_lines(draft_.inbox);
    bytes_ = outbox_ + whole_lines(draft_.outbox);
    std::vector<std::vector<std::size_t>> told(static_cast<std::size_t>(world.size()));
    for (const DraftStep& step : draft_.steps)
        for (const DraftMessage& message : step.receives) {
            own_lines_.push_back(bytes_);
            told[static_cast<std::size_t>(message.peer.index)].push_back(bytes_);
            bytes_ += whole_lines(2 * size_of_lines(message.bytes));
        }
    lines_of_peer_ = exchanged(world, told);
}

DeviceDraft LetterDraft::with_addresses(
    const DeviceRoom& room, const std::function<std::byte*(Rank)>& memory_of,
    const std::function<const std::uint64_t*(Rank)>& finished) const {
    DeviceDraft draft(type_, op_);  // all of a run is one step for the peers
    const auto address = [&](const Spot& spot) {
        switch (spot.in) {
            case Spot::In::input:
                return room.input + spot.offset;
            case Spot::In::output:
                return room.output + spot.offset;
            case Spot::In::scratch:
                return memory_of(me_) + spot.offset;
            case Spot::In::inbox:
                return memory_of(me_) + inbox_ + spot.offset;
            case Spot::In::outbox:
                return memory_of(me_) + outbox_ + spot.offset;
        }
        return static_cast<std::byte*>(nullptr);
    };
    const auto add_moves = [&](const std::vector<DraftMove>& moves) {
        std::vector<Moves::Source> sources;
        for (const DraftMove& move : moves) {
            sources.clear();
            for (const Spot& source : move.sources) sources.push_back({address(source)});
            std::byte* const out = address(move.out);
            draft.add_move({&out, 1}, sources, move.bytes);
        }
    };
    const auto letter = [&](const DraftMessage& message, std::byte* lines) {
        const auto set = [&](std::size_t number) {
            return reinterpret_cast<DeviceLine*>(lines + number * size_of_lines(message.bytes));
        };
        return LlMessage{address(message.spot),
                         {set(0), set(1)},
                         static_cast<std::uint32_t>(message.bytes),
                         message.peer.index};
    };

    std::vector<std::size_t> sent_to(lines_of_peer_.size());
    std::size_t received = 0;
    for (std::size_t peer = 0; peer < lines_of_peer_.size(); ++peer) {
        const Rank rank{static_cast<int>(peer)};
        if (!lines_of_peer_[peer].empty())
            draft.waits.push_back({finished(rank), /*steps=*/-2, rank.index});
    }
    for (const DraftStep& step : draft_.steps) {
        draft.step = step.number;
        add_moves(step.packing);
        draft.end_packing();
        for (const DraftMessage& message : step.sends) {
            const auto peer = static_cast<std::size_t>(message.peer.index);
            draft.sends.push_back(
                letter(message, memory_of(message.peer) + lines_of_peer_[peer][sent_to[peer]++]));
        }
        for (const DraftMessage& message : step.receives)
            draft.receives.push_back(letter(message, memory_of(me_) + own_lines_[received++]));
        add_moves(step.moves);
        draft.end_phase(DevicePhase::nothing);
    }
    draft.step = steps_;
    add_moves(draft_.settling);
    draft.end_phase(/*shows=*/0);
    return draft;
}

}  // namespace tutti
