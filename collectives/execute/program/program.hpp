// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/index.hpp"
#include "collectives/execute/plan/plan_request.hpp"

namespace tutti {

/// Where a chunk lies at some rank, for calls of any length.
struct ChunkPlace {
    enum class In : std::uint8_t {
        input,          ///< the caller's buffers; `number` is a position, see Positions
        output,         ///< also holds the input, in place
        copy_of_input,  ///< the plan's own copy of the input, with the same positions
        slot,           ///< a slot of the plan's memory, which peers reach; any chunk fits
        transit,        ///< the rank's own list of chunks that pass through it, see RankProgram
        inbox,          ///< the chunk of that number of those received in the step
        published       ///< at a peer: the entry of that number in its list for this rank
    } in = In::slot;
    int number = 0;
    auto operator<=>(const ChunkPlace&) const = default;

    bool is_of_caller() const { return in == In::input || in == In::output; }
    /// Returns the place that is `chunks` chunks further on.
    ChunkPlace after(int chunks) const { return {in, number + chunks}; }
    int steps_to(const ChunkPlace& next) const { return next.number - number; }
    /// Whether chunks at this and the next number are neighbours in memory, whatever their lengths.
    bool has_neighbour() const { return in != In::slot && in != In::published; }
};

/// A source or target of a move: a place of this rank, or of `peer`.
struct MovePlace {
    std::optional<Rank> peer;
    ChunkPlace place;
    int for_step = -1;  ///< for a target at a peer: the step whose transfer this write replaces
};

/// Combines the sources in order and stores the result to every target.
struct ChunkMove {
    std::vector<MovePlace> targets;
    std::vector<MovePlace> sources;
    int chunk;
    /// In this run, no rank reads the data written here: the stores may bypass the caches.
    bool is_final = false;
};

/// The chunks that one rank sends to another in a step, in the order of the schedule, and where
/// they lie at this rank. A message without bytes is left out by both.
struct ChunkMessage {
    struct Part {
        int chunk;
        ChunkPlace place;
    };
    Rank peer;
    std::vector<Part> parts = {};

    /// Whether the parts are neighbours in memory in calls of any length. Others are packed to be
    /// sent.
    bool is_in_one_piece() const;
};

/// `peer` must have finished all steps before `steps` (counted from the start of the run).
struct Dependency {
    Rank peer;
    int steps;
    bool operator==(const Dependency&) const = default;
};

/// One step: waits until its messages may arrive, posts receives and sends, waits for the
/// dependencies and for all messages, then does the moves.
struct ProgramStep {
    int number;
    std::vector<Dependency> before_messages = {};
    std::vector<ChunkMessage> receives = {}, sends = {};
    std::vector<Dependency> dependencies = {};
    std::vector<ChunkMove> moves = {};
    /// Whether no peer reads the data that the rank writes in this step or later, the rank writes
    /// nothing to a peer in this step, and it adds only its own data and those of one peer. Then
    /// peers wait only until the rank has read their data, not until it has added them.
    bool keeps_results = false;

    bool has_messages() const { return !receives.empty() || !sends.empty(); }
};

/// One rank's part of a collective (or that of one of its lanes), with places instead of addresses,
/// so that it serves calls of any length. It can be made and examined without peers: all ranks
/// decide by one rule where their chunks lie, so each can compute what its peers decide.
struct RankProgram {
    std::vector<ChunkMove> prologue;  ///< done before peers may read
    std::vector<ProgramStep> steps;
    /// By peer: the places that it reads, in the order of the schedule.
    std::vector<std::vector<ChunkPlace>> published;
    /// At the end: results copied to places that no rank reads.
    std::vector<ChunkMove> settling_early;
    /// Then waits until these have finished reading here, or writing here in the last step.
    std::vector<Dependency> last_readers;
    std::vector<ChunkMove> settling_late;  ///< then the other results
    int slots = 0;
    bool copies_input = false;  ///< the plan's memory holds a copy of the input
    std::vector<int> transit;   ///< chunks of other ranks, one after another in this rank's memory
};

/// Returns the buffer by whose positions a place of the caller is numbered.
inline BufferSide side_of(ChunkPlace place, bool in_place, const Positions& of_owner) {
    if (in_place && place.is_of_caller()) return of_owner.larger();
    return place.in == ChunkPlace::In::output ? BufferSide::output : BufferSide::input;
}

/// The most bytes that a program needs in any call with blocks of up to `block` bytes.
class MostBytes {
public:
    MostBytes(const CollectiveSpec& spec, int chunks, std::size_t block)
        : spec_(spec), chunks_per_block_(chunks / static_cast<int>(spec.blocks())), block_(block) {}
    /// The calls are the request's call and smaller ones.
    explicit MostBytes(const PlanRequest& request)
        : MostBytes({request.call.collective, request.schedule.ranks(), request.call.root},
                    request.schedule.chunks(), bytes_of_block(request.call)) {}

    std::size_t chunk() const;
    /// Returns those of the blocks of all ranks.
    std::size_t all_blocks() const { return as_size(spec_.ranks()) * block_; }
    std::size_t transit(const RankProgram& program) const;
    std::size_t inbox(const ProgramStep& step) const;
    std::size_t outbox(const ProgramStep& step) const;
    std::size_t message(const ChunkMessage& message) const;

private:
    CollectiveSpec spec_;
    int chunks_per_block_;
    std::size_t block_;
};

/// Offsets in the memory of a program that peers reach: the copy of its input, then its slots. They
/// are the same in all calls, and at all ranks, because only collectives with equal inputs copy
/// them.
class ProgramMemory {
public:
    ProgramMemory(const RankProgram& program, const MostBytes& most);

    std::size_t end() const { return end_; }
    /// `layout` is that of the rank with the place.
    std::size_t offset_of(ChunkPlace place, const Layout& layout) const {
        return place.in == ChunkPlace::In::slot ? slots_ + as_size(place.number) * slot_bytes_
                                                : layout.offset_of(BufferSide::input, place.number);
    }

private:
    std::size_t slots_, slot_bytes_, end_;
};

/// Offsets in the memory that only the rank itself uses, for one call: chunks in transit, then what
/// arrives in a step, then what is packed in it.
class OwnMemory {
public:
    /// The memory has its size for any call, and begins at the offset `begin`.
    OwnMemory(const RankProgram& program, const MostBytes& most, std::size_t begin);

    std::size_t outbox() const { return outbox_; }
    std::size_t end() const { return end_; }

    /// Places what the program has in transit.
    void place_transit(const RankProgram& program, const Layout& layout);
    /// Places what arrives in this step, instead of what arrived in an earlier one.
    void place_inbox(const ProgramStep& step, const Layout& layout);
    /// Returns the offset of a place in transit or in the inbox.
    std::size_t offset_of(ChunkPlace place) const {
        return (place.in == ChunkPlace::In::transit ? in_transit_
                                                    : in_inbox_)[as_size(place.number)];
    }

private:
    std::size_t transit_, inbox_, outbox_, end_;
    std::vector<std::size_t> in_transit_, in_inbox_;
};

/// Returns the bytes of a message in one call.
std::size_t bytes_of(const ChunkMessage& message, const Layout& layout);

/// Compiles the programs of a rank, one for each lane of the request. It also computes what its
/// peers do, as far as that is needed: no rank has to be asked. No place in it is a published one.
std::vector<RankProgram> compile(const PlanRequest& request, Rank me);

}  // namespace tutti
