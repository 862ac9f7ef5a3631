// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/device/device_draft.hpp"

#include <algorithm>

#include "base/index.hpp"

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

// Turns places into addresses, as direct_plan does on the host.
class DirectLoader {
public:
    DirectLoader(const DirectProgram& program, const PlanRequest& request, Rank me,
                 const DeviceAddresses& at, DeviceDraft& draft)
        : request_(request),
          memory_(program, layout_of(me),
                  as_size(request.schedule.ranks()) * as_size(request.call.count) *
                      size_of(request.call.type)),
          me_(me),
          at_(at),
          draft_(draft) {}

    void load(const DirectProgram& program) {
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

private:
    CollectiveSpec spec() const {
        return {request_.call.collective, request_.schedule.ranks(), request_.call.root};
    }
    Layout layout_of(Rank rank) const {
        return {request_.call, spec(), rank, request_.schedule.chunks()};
    }

    Moves::Operand operand(const MovePlace& end) const {
        const auto [in, number] = end.place;
        const Rank owner = end.peer.value_or(me_);
        const Layout layout = layout_of(owner);
        if (!end.place.is_of_caller())
            return {at_.place(owner, {Place::In::plan, memory_.offset_of(end.place, layout)})};
        const BufferSide side = side_of(end.place, request_.buffers.in_place,
                                        Positions(spec(), owner, request_.schedule.chunks()));
        return {
            at_.place(owner, {in == ChunkPlace::In::input ? Place::In::input : Place::In::output,
                              layout.offset_of(side, number)})};
    }

    void add_waits(const std::vector<Dependency>& dependencies) {
        for (const Dependency& dependency : dependencies)
            draft_.waits.push_back(
                {at_.finished(dependency.peer), dependency.steps, dependency.peer.index});
    }

    void add_moves(const std::vector<DirectMove>& moves) {
        std::vector<Moves::Operand> outs, sources;
        for (const DirectMove& move : moves) {
            outs.clear();
            sources.clear();
            for (const MovePlace& target : move.targets) outs.push_back(operand(target));
            for (const MovePlace& source : move.sources) sources.push_back(operand(source));
            draft_.add_move(outs, sources, layout_of(me_).bytes_of(move.chunk));
        }
    }

    const PlanRequest& request_;
    ProgramMemory memory_;
    Rank me_;
    const DeviceAddresses& at_;
    DeviceDraft& draft_;
};

}  // namespace

DeviceDraft draft_direct(const DirectProgram& program, const PlanRequest& request, Rank me,
                         const DeviceAddresses& at) {
    DeviceDraft draft(request.call.type, request.call.op);
    draft.steps_of_run = static_cast<std::uint64_t>(request.schedule.steps()) + 1;
    DirectLoader(program, request, me, at, draft).load(program);
    return draft;
}

}  // namespace tutti
