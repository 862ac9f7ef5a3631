// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "collectives/execute/plan/caller_memory.hpp"
#include "collectives/execute/plan/plan_request.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// A source or target of a move: a place of this rank, or of `peer`. What peers publish is read at
/// {Place::In::published, number}, as they alone know where it lies.
struct MovePlace {
    std::optional<Rank> peer;
    Place place;
    int for_step = -1;  ///< of a target at a peer: the step whose transfer this write replaces
};

/// Every target = sources combined in order.
struct DirectMove {
    std::vector<MovePlace> targets;
    std::vector<MovePlace> sources;
    std::size_t bytes;
    /// In this run, neither this rank nor a peer reads what it writes here: it may bypass the
    /// caches.
    bool is_final = false;
};

/// `peer` must have finished all steps before `steps` (counted from the start of the run).
struct Dependency {
    Rank peer;
    int steps;
};

/// One step: wait for the dependencies, then do the moves.
struct DirectStep {
    int number;
    std::vector<Dependency> dependencies;
    std::vector<DirectMove> moves;
    /// No peer comes to what the rank writes in this step or later, and what it adds is its own and
    /// one peer's: peers wait only until it has read what they hold, not until it has added it.
    bool keeps_results = false;
};

/// One rank's part for direct execution, with places instead of addresses. It can be made and
/// examined without peers: each rank decides by itself where its chunks lie, and publishes to each
/// peer, in the order of the schedule, the places to read.
struct DirectProgram {
    std::vector<DirectMove> prologue;  ///< before peers may read
    std::vector<DirectStep> steps;
    std::vector<std::vector<Place>> published;  ///< by peer
    std::vector<DirectMove> settling_early;     ///< at the end: results to where nobody reads
    std::vector<Dependency> last_readers;       ///< then waits until these have finished reading
    std::vector<DirectMove> settling_late;      ///< then the other results
    std::size_t plan_bytes = 0;                 ///< shared memory that the plan itself needs
};

/// Says of each step whether it keeps its results, in a program whose peers read through the
/// kernel. `last_readers` are still complete.
void mark_kept_results(DirectProgram& program);

/// Removes each dependency that an earlier step has already waited for: counters never go back.
void leave_out_implied_dependencies(DirectProgram& program);

/// The caller's buffers and what peers can do with them. In place, `input` and `output` are places
/// in the same memory.
struct BufferAccess {
    Place input, output;
    /// Peers read there (registered memory; or through the kernel). If not, what they are to read
    /// is first copied into the plan's memory.
    bool peers_read = true;
    bool peers_write = true;  ///< Results may be stored there by whoever computes them.
};

/// What one rank's program is compiled from; the schedule is read once, here. The request must
/// outlive it.
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
/// spreads work: where one rank would have to read from many idle ones, they write to it.
///
/// That takes two: the sender knows when it has the value, the receiver when its place is free. So
/// each sends the other its terms, and both decide by the same rule. One entry for each chunk
/// copied between two ranks, in the order of the schedule.
struct PushTerms {
    struct Sender {
        /// The step in which it computes the chunk; its value is then kept until it is sent.
        std::optional<int> computed_in;
        bool from_input = false;  ///< the chunk is as the sender's caller gave it
        int load = 0;             ///< chunks to handle in the step of the transfer, if it pushes
    };
    struct Receiver {
        bool is_open = false;  ///< the place can be written by the sender at all, if late enough
        Place place = {};
        int last_use = -1;             ///< step in which the receiver last uses the place before
        int last_read_by_sender = -1;  ///< and the sender
        int load = 0;                  ///< chunks to handle in that step, if it reads
    };
    std::vector<std::vector<Sender>> as_sender;      ///< of this rank, by receiver
    std::vector<std::vector<Receiver>> as_receiver;  ///< of this rank, by sender

    /// The step in which the sender writes into the receiver's place, for the transfer of `step`;
    /// nothing: the receiver reads it.
    static std::optional<int> push_step(const Sender& sender, const Receiver& receiver, int step);
};

/// The terms that this rank has sent to its peers, and theirs.
struct PushNegotiation {
    PushTerms own;
    std::vector<std::vector<PushTerms::Sender>> senders;      ///< by sender
    std::vector<std::vector<PushTerms::Receiver>> receivers;  ///< by receiver
};

/// Exchanges the terms of all ranks. Collective.
PushNegotiation negotiate_pushes(World& world, PushTerms own);

/// Decides for a compiler which chunks are pushed. It is asked once for each chunk copied between
/// this rank and another, in the order of the schedule.
class Pushes {
public:
    struct Push {
        int step;
        Place place;   ///< of the receiver
        int last_use;  ///< by the receiver, which must have finished that step
    };

    virtual ~Pushes() = default;
    /// How this rank pushes the chunk to `receiver`; nothing: publish it.
    virtual std::optional<Push> to(Rank receiver, int step, const PushTerms::Sender& own) = 0;
    /// The step in which `sender` pushes the chunk here; nothing: read it.
    virtual std::optional<int> from(Rank sender, int step, const PushTerms::Receiver& own) = 0;
};

/// Before the negotiation: notes this rank's terms, and nothing is pushed.
class ProposedPushes final : public Pushes {
public:
    explicit ProposedPushes(int ranks);
    std::optional<Push> to(Rank receiver, int step, const PushTerms::Sender& own) override;
    std::optional<int> from(Rank sender, int step, const PushTerms::Receiver& own) override;
    PushTerms take_terms() { return std::move(terms_); }

private:
    PushTerms terms_;
};

/// After it. The terms that were exchanged count, as a program with pushes would have others.
class AgreedPushes final : public Pushes {
public:
    explicit AgreedPushes(const PushNegotiation& negotiation);
    std::optional<Push> to(Rank receiver, int step, const PushTerms::Sender& own) override;
    std::optional<int> from(Rank sender, int step, const PushTerms::Receiver& own) override;

private:
    const PushNegotiation& negotiation_;
    std::vector<std::size_t> sent_, received_;  // by peer: chunks copied so far
};

/// What this rank contributes to the negotiation of pushes.
PushTerms push_terms(const DirectTask& task);

DirectProgram compile_direct(const DirectTask& task, const PushNegotiation& negotiation);

/// The same with the negotiation between. Collective.
DirectProgram compile_direct(World& world, const PlanRequest& request, const BufferAccess& buffers);

}  // namespace tutti
