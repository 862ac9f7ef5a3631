// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/device/device_draft.hpp"

#include <algorithm>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/execute/plan/exchange_lists.hpp"

namespace tutti {

bool Touched::overlaps(const std::byte* from, std::size_t bytes) const {
    const auto next = begins_.upper_bound(from);
    return next != begins_.end() && next->second < from + bytes;
}

// Merges overlapping intervals.
void Touched::add(const std::byte* from, std::size_t bytes) {
    const std::byte* end = from + bytes;
    for (auto next = begins_.upper_bound(from); next != begins_.end() && next->second < end;
         next = begins_.erase(next)) {
        from = std::min(from, next->second);
        end = std::max(end, next->first);
    }
    begins_[end] = from;
}

void DeviceDraft::add_move(std::span<const Moves::Operand> outs,
                           std::span<const Moves::Operand> sources, std::size_t bytes) {
    if (bytes == 0) return;
    const bool overwrites = std::ranges::any_of(outs, [&](const Moves::Operand& out) {
        return written_.overlaps(out.address, bytes) || read_.overlaps(out.address, bytes);
    });
    const bool reads_new = std::ranges::any_of(sources, [&](const Moves::Operand& source) {
        return written_.overlaps(source.address, bytes);
    });
    if (overwrites || reads_new) end_phase(DevicePhase::nothing);
    for (const Moves::Operand& out : outs) written_.add(out.address, bytes);
    for (const Moves::Operand& source : sources) read_.add(source.address, bytes);
    moves.add(outs, sources, bytes);
}

void DeviceDraft::end_packing() {
    packing_end_ = moves.size();
    moves.close();
}

void DeviceDraft::end_phase(std::uint64_t published_steps) {
    const auto size = [](const auto& list) { return static_cast<std::uint32_t>(list.size()); };
    phases.push_back({.waits_end = size(waits),
                      .packing_end = packing_end_,
                      .sends_end = size(sends),
                      .receives_end = size(receives),
                      .moves_end = moves.size(),
                      .step = step,
                      .finished = published_steps});
    end_packing();
    read_.clear();
    written_.clear();
}

namespace {

CollectiveSpec spec_of(const PlanRequest& request) {
    return {request.call.collective, request.schedule.ranks(), request.call.root};
}

Layout layout_of(const PlanRequest& request, Rank rank) {
    return {request.call, spec_of(request), rank, request.schedule.chunks()};
}

// Returns the size of a mailbox, for even or for odd runs.
std::size_t mailbox_bytes(std::size_t bytes) { return (bytes + 7) / 8 * sizeof(DeviceLine); }

// Turns places into addresses, as host_plan does.
class DeviceLoader {
public:
    // `own`: of a program with messages.
    DeviceLoader(const RankProgram& program, const PlanRequest& request, Rank me,
                 const DeviceAddresses& at, DeviceDraft& draft, const OwnMemory* own)
        : request_(request),
          layout_(layout_of(request, me)),
          memory_(program, MostBytes(request)),
          me_(me),
          at_(at),
          draft_(draft) {
        if (own == nullptr) return;
        own_.emplace(*own);
        own_->place_transit(program, layout_);
    }

    void load_direct(const RankProgram& program) {
        const std::uint64_t all = draft_.steps_of_run - 1;
        const auto& steps = program.steps;
        const auto finished_before = [&](std::size_t next) {
            return next < steps.size() ? static_cast<std::uint64_t>(steps[next].number) : all;
        };
        add_moves(program.prologue);
        draft_.end_phase(finished_before(0));
        for (std::size_t i = 0; i < steps.size(); ++i) {
            draft_.step = steps[i].number;
            add_waits(steps[i].dependencies);
            add_moves(steps[i].moves);
            draft_.end_phase(finished_before(i + 1));
        }
        draft_.step = static_cast<int>(all);
        add_moves(program.settling_early);
        if (draft_.has_moves_left()) draft_.end_phase(DevicePhase::nothing);
        add_waits(program.last_readers);
        add_moves(program.settling_late);
        if (!program.last_readers.empty() || draft_.has_moves_left())
            draft_.end_phase(DevicePhase::nothing);
    }

    void add_moves(const std::vector<ChunkMove>& moves) {
        std::vector<Moves::Operand> outs, sources;
        for (const ChunkMove& move : moves) {
            outs.clear();
            sources.clear();
            for (const MovePlace& target : move.targets) outs.push_back(operand(target));
            for (const MovePlace& source : move.sources) sources.push_back(operand(source));
            draft_.add_move(outs, sources, layout_.bytes_of(move.chunk));
        }
    }

    // Adds the step's messages; `mailbox` returns where the next one to a peer, or from any, goes.
    void add_messages(const ProgramStep& step, const auto& mailbox_at, const auto& own_mailbox) {
        own_->place_inbox(step, layout_);
        std::size_t packed = own_->outbox();
        for (const ChunkMessage& message : step.sends) {
            const std::size_t bytes = bytes_of(message, layout_);
            if (bytes == 0) continue;
            std::byte* data = operand({std::nullopt, message.parts.front().place}).address;
            if (!message.is_in_one_piece()) {
                data = in_plan(packed);
                for (const ChunkMessage::Part& part : message.parts) {
                    const Moves::Operand out{in_plan(packed)},
                        source = operand({std::nullopt, part.place});
                    draft_.add_move({&out, 1}, {&source, 1}, layout_.bytes_of(part.chunk));
                    packed += layout_.bytes_of(part.chunk);
                }
            }
            draft_.sends.push_back(
                in_mailbox(message.peer, data, bytes, message.peer, mailbox_at(message.peer)));
        }
        draft_.end_packing();
        for (const ChunkMessage& message : step.receives)
            if (const std::size_t bytes = bytes_of(message, layout_); bytes > 0)
                draft_.receives.push_back(in_mailbox(
                    message.peer, operand({std::nullopt, message.parts.front().place}).address,
                    bytes, me_, own_mailbox()));
    }

private:
    std::byte* in_plan(std::size_t offset) const {
        return at_.place(me_, {Place::In::plan, offset});
    }

    LlMessage in_mailbox(Rank peer, std::byte* data, std::size_t bytes, Rank receiver,
                         std::size_t offset) const {
        std::byte* const begin = at_.place(receiver, {Place::In::plan, offset});
        const auto set = [&](std::size_t number) {
            return reinterpret_cast<DeviceLine*>(begin + number * mailbox_bytes(bytes));
        };
        return {data, {set(0), set(1)}, static_cast<std::uint32_t>(bytes), peer.index};
    }

    Moves::Operand operand(const MovePlace& end) const {
        const auto [in, number] = end.place;
        const Rank owner = end.peer.value_or(me_);
        if (in == ChunkPlace::In::transit || in == ChunkPlace::In::inbox)
            return {in_plan(own_->offset_of(end.place))};
        const Layout layout = layout_of(request_, owner);
        if (!end.place.is_of_caller())
            return {at_.place(owner, {Place::In::plan, memory_.offset_of(end.place, layout)})};
        const BufferSide side =
            side_of(end.place, request_.buffers.in_place,
                    Positions(spec_of(request_), owner, request_.schedule.chunks()));
        return {
            at_.place(owner, {in == ChunkPlace::In::input ? Place::In::input : Place::In::output,
                              layout.offset_of(side, number)})};
    }

    void add_waits(const std::vector<Dependency>& dependencies) {
        for (const Dependency& dependency : dependencies)
            draft_.waits.push_back(
                {at_.finished(dependency.peer), dependency.steps, dependency.peer.index});
    }

    const PlanRequest& request_;
    Layout layout_;
    ProgramMemory memory_;
    std::optional<OwnMemory> own_;
    Rank me_;
    const DeviceAddresses& at_;
    DeviceDraft& draft_;
};

}  // namespace

DeviceDraft draft_direct(const RankProgram& program, const PlanRequest& request, Rank me,
                         const DeviceAddresses& at) {
    DeviceDraft draft(request.call.type, request.call.op);
    draft.steps_of_run = static_cast<std::uint64_t>(request.schedule.steps()) + 1;
    DeviceLoader(program, request, me, at, draft, nullptr).load_direct(program);
    return draft;
}

LlDraft::LlDraft(const PlanRequest& request, World& world)
    : me_(world.rank()),
      request_(request),
      program_(std::move(compile(request, me_).front())),
      memory_(program_, MostBytes(request), ProgramMemory(program_, MostBytes(request)).end()),
      bytes_(memory_.end()) {
    const Layout layout = layout_of(request, me_);
    std::vector<std::vector<std::size_t>> for_sender(as_size(world.size()));
    for (const ProgramStep& step : program_.steps)
        for (const ChunkMessage& message : step.receives) {
            const std::size_t bytes = bytes_of(message, layout);
            if (bytes == 0) continue;
            constexpr std::size_t alignment = 256;
            bytes_ = round_up(bytes_, alignment);
            own_mailboxes_.push_back(bytes_);
            at(for_sender, message.peer).push_back(bytes_);
            bytes_ += 2 * mailbox_bytes(bytes);
        }
    mailboxes_at_ = exchanged(world, for_sender);
}

DeviceDraft LlDraft::with_addresses(const DeviceAddresses& addresses) const {
    DeviceDraft draft(request_.call.type, request_.call.op);  // to peers, a run is a single step
    DeviceLoader loader(program_, request_, me_, addresses, draft, &memory_);
    for (const Rank peer : all_ranks(int_size(mailboxes_at_)))
        if (!at(mailboxes_at_, peer).empty())
            draft.waits.push_back({addresses.finished(peer), /*steps=*/-2, peer.index});
    loader.add_moves(program_.prologue);
    std::vector<std::size_t> sent_to(mailboxes_at_.size());
    std::size_t received = 0;
    for (const ProgramStep& step : program_.steps) {
        draft.step = step.number;
        loader.add_messages(
            step, [&](Rank peer) { return at(mailboxes_at_, peer)[at(sent_to, peer)++]; },
            [&] { return own_mailboxes_[received++]; });
        loader.add_moves(step.moves);
        draft.end_phase(DevicePhase::nothing);
    }
    draft.step = request_.schedule.steps();
    loader.add_moves(program_.settling_early);
    draft.end_phase(/*published_steps=*/0);
    return draft;
}

}  // namespace tutti
