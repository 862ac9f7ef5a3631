// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "collectives/device/device_program.hpp"
#include "collectives/execute/plan/moves.hpp"
#include "collectives/execute/program/program.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// Memory that was read or written, as intervals.
class Touched {
public:
    bool overlaps(const std::byte* from, std::size_t bytes) const;
    void add(const std::byte* from, std::size_t bytes);
    void clear() { begins_.clear(); }

private:
    std::map<const std::byte*, const std::byte*> begins_;  // by ends
};

/// One rank's part of a plan in phases, with addresses in device memory, before it is distributed
/// over the rank's blocks. On the host a rank does its moves in order; here threads do those of a
/// phase at the same time, so moves that touch the same memory get different phases.
class DeviceDraft {
public:
    DeviceDraft(DataType type, Op op) : moves(type, op, {}) {}

    std::vector<DevicePhase> phases;
    std::vector<DeviceWait> waits;
    std::vector<LlMessage> sends, receives;
    Moves moves;
    int step = 0;  ///< step of the next phase
    std::uint64_t steps_of_run = 1;
    /// Results that are divided at the end, as sums become means.
    std::byte* divided = nullptr;
    std::uint64_t divided_bytes = 0;
    std::uint32_t divisor = 0;

    void add_move(std::span<const Moves::Operand> outs, std::span<const Moves::Operand> sources,
                  std::size_t bytes);
    /// Ends the packing: moves added before run before the phase's messages, later ones after them.
    void end_packing();
    /// Ends a phase, which consists of everything added since the previous one ended.
    void end_phase(std::uint64_t published_steps);
    bool has_moves_left() const { return moves.size() > phases.back().moves_end; }

private:
    std::uint32_t packing_end_ = 0;
    Touched read_, written_;
};

/// Addresses as this rank's device uses them.
struct DeviceAddresses {
    std::function<std::byte*(Rank, Place)> place;        ///< of bytes in a rank's memory
    std::function<const std::uint64_t*(Rank)> finished;  ///< counter of the rank
};

/// Drafts a program without messages for the call of the request.
DeviceDraft draft_direct(const RankProgram& program, const PlanRequest& request, Rank me,
                         const DeviceAddresses& at);

/// A rank's part of one small call by the LL protocol (each store carries its flag): a program of
/// messages, inside a kernel. Each message has its own mailbox in its receiver's memory, one for
/// even and one for odd runs. A sender waits until its receiver has finished the run before the
/// previous one, which is nearly always the case.
class LlDraft {
public:
    /// Collective, because receivers send senders the addresses of their mailboxes. The request
    /// must outlive it.
    LlDraft(const PlanRequest& request, World& world);

    /// Returns the size of the plan's own memory.
    std::size_t bytes() const { return bytes_; }

    DeviceDraft with_addresses(const DeviceAddresses& at) const;

private:
    Rank me_;
    const PlanRequest& request_;
    RankProgram program_;
    OwnMemory memory_;
    std::size_t bytes_;
    std::vector<std::size_t> own_mailboxes_;              // one per receive, in order
    std::vector<std::vector<std::size_t>> mailboxes_at_;  // by peer: one per send to it, in order
};

/// The programs of the rank's blocks in one piece of memory; `place` gets its size and returns its
/// address. Moves of less than two grains go to one block each, in turn; larger ones are cut at
/// multiples of 16 bytes, so that each block gets at least a grain.
struct DeviceImage {
    std::vector<std::byte> bytes;
    std::size_t programs = 0;  ///< offset of the blocks' programs
    std::size_t phases = 0;
};
DeviceImage image_of(const DeviceDraft& draft, Rank me, unsigned blocks, std::size_t grain,
                     DeviceState* state, const std::function<std::byte*(std::size_t)>& place);

}  // namespace tutti
