// SPDX-License-Identifier: Apache-2.0

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/execute/device/device_draft.hpp"
#include "collectives/execute/plan/exchange_lists.hpp"

namespace tutti {
namespace {

constexpr std::size_t alignment = 256;  // alignment of data of different ranks or steps

std::size_t aligned(std::size_t bytes) { return round_up(bytes, alignment); }

// Returns the size of a mailbox, for even or for odd runs.
std::size_t mailbox_bytes(std::size_t bytes) { return (bytes + 7) / 8 * sizeof(DeviceLine); }

}  // namespace

LlDraft::LlDraft(const PlanRequest& request, World& world)
    : me_(world.rank()),
      type_(request.call.type),
      op_(request.call.op),
      steps_(request.schedule.steps()),
      draft_(std::move(draft_messages(request, me_).front())),
      sizes_(draft_.sizes.entries.size()) {
    draft_.sizes.evaluate(request.call, sizes_);
    inbox_ = aligned(draft_.plan);
    outbox_ = inbox_ + aligned(draft_.inbox);
    bytes_ = outbox_ + aligned(draft_.outbox);
    std::vector<std::vector<std::size_t>> for_sender(as_size(world.size()));
    for (const DraftStep& step : draft_.steps)
        for (const DraftMessage& message : step.receives) {
            if (size(message.bytes) == 0) continue;
            own_mailboxes_.push_back(bytes_);
            at(for_sender, message.peer).push_back(bytes_);
            bytes_ += aligned(2 * mailbox_bytes(size(message.bytes)));
        }
    mailboxes_at_ = exchanged(world, for_sender);
}

// The plan's memory holds the chunks in transit, then the inbox, then the outbox.
Place LlDraft::in_plan_memory(DraftPlace place) const {
    const std::size_t offset = size(place.offset);
    if (place.in == Place::In::inbox) return {Place::In::plan, inbox_ + offset};
    if (place.in == Place::In::outbox) return {Place::In::plan, outbox_ + offset};
    return {place.in, offset};
}

DeviceDraft LlDraft::with_addresses(const DeviceAddresses& addresses) const {
    DeviceDraft draft(type_, op_);  // to peers, a run is a single step
    const auto address = [&](DraftPlace place) {
        return addresses.place(me_, in_plan_memory(place));
    };
    const auto add_moves = [&](const std::vector<DraftMove>& moves) {
        std::vector<Moves::Operand> sources;
        for (const DraftMove& move : moves) {
            sources.clear();
            for (const DraftPlace& source : move.sources) sources.push_back({address(source)});
            const Moves::Operand out{address(move.out)};
            draft.add_move({&out, 1}, sources, size(move.bytes));
        }
    };
    const auto with_mailbox = [&](const DraftMessage& message, Rank receiver, std::size_t offset) {
        std::byte* const begin = addresses.place(receiver, {Place::In::plan, offset});
        const auto set = [&](std::size_t number) {
            return reinterpret_cast<DeviceLine*>(begin +
                                                 number * mailbox_bytes(size(message.bytes)));
        };
        return LlMessage{address(message.place),
                         {set(0), set(1)},
                         static_cast<std::uint32_t>(size(message.bytes)),
                         message.peer.index};
    };

    std::vector<std::size_t> sent_to(mailboxes_at_.size());
    std::size_t received = 0;
    for (const Rank peer : all_ranks(int_size(mailboxes_at_)))
        if (!at(mailboxes_at_, peer).empty())
            draft.waits.push_back({addresses.finished(peer), /*steps=*/-2, peer.index});
    for (const DraftStep& step : draft_.steps) {
        draft.step = step.number;
        add_moves(step.packing);
        draft.end_packing();
        for (const DraftMessage& message : step.sends)
            if (size(message.bytes) > 0)
                draft.sends.push_back(
                    with_mailbox(message, message.peer,
                                 at(mailboxes_at_, message.peer)[at(sent_to, message.peer)++]));
        for (const DraftMessage& message : step.receives)
            if (size(message.bytes) > 0)
                draft.receives.push_back(with_mailbox(message, me_, own_mailboxes_[received++]));
        add_moves(step.moves);
        draft.end_phase(DevicePhase::nothing);
    }
    draft.step = steps_;
    add_moves(draft_.settling);
    draft.end_phase(/*published_steps=*/0);
    return draft;
}

}  // namespace tutti
