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
        slot,           ///< a slot of the plan's memory; any chunk fits
        published       ///< at a peer: the entry of that number in its list for this rank
    } in = In::slot;
    int number = 0;
    auto operator<=>(const ChunkPlace&) const = default;

    bool is_of_caller() const { return in == In::input || in == In::output; }
};

/// A source or target of a move: a place of this rank, or of `peer`.
struct MovePlace {
    std::optional<Rank> peer;
    ChunkPlace place;
    int for_step = -1;  ///< for a target at a peer: the step whose transfer this write replaces
};

/// Combines the sources in order and stores the result to every target.
struct DirectMove {
    std::vector<MovePlace> targets;
    std::vector<MovePlace> sources;
    int chunk;
    /// In this run, no rank reads the data written here: the stores may bypass the caches.
    bool is_final = false;
};

/// `peer` must have finished all steps before `steps` (counted from the start of the run).
struct Dependency {
    Rank peer;
    int steps;
};

/// One step: waits for the dependencies, then does the moves.
struct DirectStep {
    int number;
    std::vector<Dependency> dependencies;
    std::vector<DirectMove> moves;
    /// No peer accesses the data that the rank writes in this step or later, and the rank adds only
    /// its own data and those of one peer: peers wait only until it has read their data, not until
    /// it has added them.
    bool keeps_results = false;
};

/// One rank's part for direct execution, with places instead of addresses, so that it serves calls
/// of any length. It can be made and examined without peers: all ranks decide by one rule where
/// their chunks lie, so each can compute what its peers decide.
struct DirectProgram {
    std::vector<DirectMove> prologue;  ///< done before peers may read
    std::vector<DirectStep> steps;
    /// By peer: the places that it reads, in the order of the schedule.
    std::vector<std::vector<ChunkPlace>> published;
    /// At the end: results copied to places that no rank reads.
    std::vector<DirectMove> settling_early;
    std::vector<Dependency> last_readers;   ///< then waits until these have finished reading
    std::vector<DirectMove> settling_late;  ///< then the other results
    int slots = 0;
    bool copies_input = false;  ///< the plan's memory holds a copy of the input
};

/// Returns the buffer by whose positions a place of the caller is numbered.
inline BufferSide side_of(ChunkPlace place, bool in_place, const Positions& of_owner) {
    if (in_place && place.is_of_caller()) return of_owner.larger();
    return place.in == ChunkPlace::In::output ? BufferSide::output : BufferSide::input;
}

/// Offsets in a rank's own memory of a program, for one call: the copy of its input, then its
/// slots. Only collectives with equal inputs copy them, so that the offsets are the same at all
/// ranks.
class ProgramMemory {
public:
    /// `copied`: bytes of the longest input of a rank, if the program copies it.
    ProgramMemory(const DirectProgram& program, const Layout& layout, std::size_t copied);

    /// `layout` is that of the rank with the place.
    std::size_t offset_of(ChunkPlace place, const Layout& layout) const {
        return place.in == ChunkPlace::In::slot ? slots_ + as_size(place.number) * slot_bytes_
                                                : layout.offset_of(BufferSide::input, place.number);
    }
    /// Returns the size for this call.
    std::size_t bytes() const { return bytes_; }

private:
    std::size_t slots_, slot_bytes_, bytes_;
};

/// Returns the largest size of this memory for any call with blocks of up to `block` bytes.
std::size_t most_program_bytes(const DirectProgram& program, const CollectiveSpec& spec, int chunks,
                               std::size_t block);

/// Determines for each step whether it keeps its results, in a program whose peers read through the
/// kernel. Requires that `last_readers` is still complete.
void mark_kept_results(DirectProgram& program);

/// Removes each dependency that an earlier step has already waited for: counters only grow.
void leave_out_implied_dependencies(DirectProgram& program);

/// How peers can access the caller's buffers; the same on all ranks.
struct BufferAccess {
    /// Whether peers read there (registered memory, or through the kernel). If not, data for them
    /// is first copied into the plan's memory.
    bool peers_read = true;
    bool peers_write = true;  ///< Whether peers may store results there.
};

/// The input of the compiler for one rank's program; it reads the schedule once, here. The request
/// must outlive it.
struct DirectTask {
    DirectTask(const PlanRequest& to_do, Rank rank, const BufferAccess& access)
        : request(to_do), me(rank), buffers(access), steps(rank_steps(to_do, rank)) {}

    const PlanRequest& request;
    Rank me;
    BufferAccess buffers;
    std::vector<RankStep> steps;
};

/// A rank that computes a chunk can write it straight into the results of the ranks that need it (a
/// *push*), instead of letting them read it: this saves a pass over memory and a signal. It also
/// spreads work: if one rank would read from many idle ranks, they write to it instead.
///
/// Both sides decide by the same rule, from the terms of both: the sender knows when it has the
/// value, the receiver when its place is free. There is one entry for each chunk copied between two
/// ranks, in the order of the schedule.
struct PushTerms {
    struct Sender {
        /// The step in which it computes the chunk; it keeps the value until it is sent.
        std::optional<int> computed_in;
        bool from_input = false;  ///< the chunk is unchanged from the sender's input
        int load = 0;             ///< chunks to handle in the step of the transfer, if it pushes
    };
    struct Receiver {
        bool is_open = false;  ///< whether the sender can ever write the place, if late enough
        ChunkPlace place = {};
        int last_use = -1;             ///< last step before in which the receiver uses the place
        int last_read_by_sender = -1;  ///< last step before in which the sender does
        int load = 0;                  ///< chunks to handle in that step, if it reads
    };
    std::vector<std::vector<Sender>> as_sender;      ///< this rank's terms, by receiver
    std::vector<std::vector<Receiver>> as_receiver;  ///< this rank's terms, by sender

    /// Returns the step in which the sender writes into the receiver's place, for the transfer of
    /// `step`; nothing if the receiver reads it.
    static std::optional<int> push_step(const Sender& sender, const Receiver& receiver, int step);
};

/// The terms of a rank, and those of its peers for it.
struct PushNegotiation {
    PushTerms own;
    std::vector<std::vector<PushTerms::Sender>> senders;      ///< by sender
    std::vector<std::vector<PushTerms::Receiver>> receivers;  ///< by receiver
};

/// Decides for a compiler which chunks are pushed. It is called once for each chunk copied between
/// this rank and another, in the order of the schedule.
class Pushes {
public:
    struct Push {
        int step;
        ChunkPlace place;  ///< at the receiver
        int last_use;      ///< the receiver must have finished this step
    };

    virtual ~Pushes() = default;
    /// Returns how this rank pushes the chunk to `receiver`; nothing if it publishes the chunk.
    virtual std::optional<Push> to(Rank receiver, int step, const PushTerms::Sender& own) = 0;
    /// Returns the step in which `sender` pushes the chunk here; nothing if this rank reads it.
    virtual std::optional<int> from(Rank sender, int step, const PushTerms::Receiver& own) = 0;
};

/// Records this rank's terms before the negotiation; nothing is pushed.
class ProposedPushes final : public Pushes {
public:
    explicit ProposedPushes(int ranks);
    std::optional<Push> to(Rank receiver, int step, const PushTerms::Sender& own) override;
    std::optional<int> from(Rank sender, int step, const PushTerms::Receiver& own) override;
    PushTerms take_terms() { return std::move(terms_); }

private:
    PushTerms terms_;
};

/// Applies the result of the negotiation. It uses the exchanged terms, because a program with
/// pushes would have others.
class AgreedPushes final : public Pushes {
public:
    explicit AgreedPushes(const PushNegotiation& negotiation);
    std::optional<Push> to(Rank receiver, int step, const PushTerms::Sender& own) override;
    std::optional<int> from(Rank sender, int step, const PushTerms::Receiver& own) override;

private:
    const PushNegotiation& negotiation_;
    std::vector<std::size_t> sent_, received_;  // by peer: chunks copied so far
};

/// Returns the rank's contribution to the negotiation of pushes.
PushTerms push_terms(const DirectTask& task);

/// Returns the program of the task's rank; places at peers are published ones.
DirectProgram compile_direct(const DirectTask& task, const PushNegotiation& negotiation);

/// Compiles the program of `me`, and those of its peers as far as that needs: no rank has to be
/// asked. No place in it is a published one.
DirectProgram compile_direct(const PlanRequest& request, Rank me, const BufferAccess& buffers);

}  // namespace tutti
