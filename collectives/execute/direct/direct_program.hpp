// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/execute/direct/push_negotiation.hpp"
#include "collectives/execute/plan/plan_request.hpp"

namespace tutti {

/// A source or target of a move: a place of this rank, or of `peer`. What peers publish is read at
/// {Place::In::published, number}, as they alone know where it lies.
struct RankPlace {
    std::optional<Rank> peer;
    Place place;
    int for_step = -1;  ///< of a target at a peer: the step whose transfer this write replaces
};

/// Every target = sources combined in order.
struct DirectMove {
    std::vector<RankPlace> targets;
    std::vector<RankPlace> sources;
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

/// What this rank contributes to the negotiation of pushes.
PushTerms push_terms(const DirectTask& task);

DirectProgram compile_direct(const DirectTask& task, const PushNegotiation& negotiation);

/// The same with the negotiation between. Collective.
DirectProgram compile_direct(World& world, const PlanRequest& request, const BufferAccess& buffers);

}  // namespace tutti
