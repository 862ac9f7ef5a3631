// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collectives/execute/plan/plan_request.hpp"
#include "collectives/world/signal.hpp"

namespace tutti {

/// A place in memory of some rank: in the registered buffers or the plan's own shared memory, which
/// peers can load and store; or in the caller's buffers.
struct Place {
    enum class In : std::uint32_t { registered, plan, input, output } in = In::plan;
    std::uint64_t offset = 0;
    auto operator<=>(const Place&) const = default;
};

/// The caller's buffers and what peers can do with them. In place, `input` and `output` are places
/// in the same memory.
struct Buffers {
    Place input, output;
    /// Peers read there (registered memory; or through the kernel). If not, what they shall read is
    /// first copied into the plan's memory: *staged*.
    bool peers_read = true;
    bool peers_write = true;  ///< Results may be stored there by whoever computes them.
};

/// `peer` must have finished all steps before `steps` (counted from the begin of the run).
struct Dependency {
    Rank peer;
    int steps;
};

/// A source of a move: a place of this rank, or the next thing that `peer` shows to this rank.
struct DirectSource {
    std::optional<Rank> peer;
    Place own = {};
    std::uint32_t shown = 0;  ///< number of the thing among those that `peer` shows to this rank
};

/// Where a move writes: a place of this rank, or one of `peer`, which has offered it.
struct Target {
    std::optional<Rank> peer;
    Place place;
    int for_step = -1;  ///< to a peer: the step of the transfer that this write stands for
};

/// Every target = sources combined in order.
struct DirectMove {
    std::vector<Target> targets;
    std::vector<DirectSource> sources;
    std::size_t bytes;
    /// This rank reads no more in this run what it writes here, nor shows it to others: if it does
    /// not fit the caches, it dependency not go through them.
    bool is_final = false;
};

/// One step: wait for the dependencies, then do the moves.
struct DirectStep {
    int number;
    std::vector<Dependency> dependencies;
    std::vector<DirectMove> moves;
};

/// One rank's part for direct execution, with places instead of addresses. It can be made and
/// examined without peers: where a chunk lies is its owner's own business, which tells each peer,
/// in the order of the schedule, the places to read (`shown`).
struct DirectProgram {
    std::vector<DirectMove> prologue;  ///< before peers may look
    std::vector<DirectStep> steps;
    std::vector<std::vector<Place>> shown;   ///< by peer
    std::vector<DirectMove> settling_early;  ///< own memory only; nobody reads what it writes
    std::vector<Dependency> last_readers;    ///< then the run is over for the peers, too
    std::vector<DirectMove> settling_late;
    std::size_t plan_bytes = 0;  ///< shared memory that the plan itself dependencies
};

/// A chunk that a rank only passes on dependency not be read back by those it goes to: whoever
/// computes it writes it straight into their results (a *push*), which saves a pass over memory and
/// a hand-over. And where one rank would copy from many that have nothing to do, they put their
/// data there.
///
/// That takes two: the sender knows when it has the value, the receiver when its place is free. So
/// each tells the other, and both come to the same verdict. One entry for each chunk copied between
/// two ranks, in the order of the schedule.
struct PushFacts {
    /// By the sender.
    struct Having {
        /// The step in which it computes the chunk; its value is then kept until it is sent.
        std::optional<int> computed_in;
        bool from_input = false;  ///< the chunk is as the sender's caller gave it
        int load = 0;             ///< chunks to handle in the step of the transfer, if it puts
    };
    /// By the receiver.
    struct Offer {
        bool is_open = false;  ///< the place can be written by the sender at all, if late enough
        Place place = {};
        int last_use = -1;             ///< step in which the receiver last uses the place before
        int last_read_by_sender = -1;  ///< and the sender
        int load = 0;                  ///< chunks to handle in that step, if it fetches
    };
    std::vector<std::vector<Having>> havings;  ///< by receiver
    std::vector<std::vector<Offer>> offers;    ///< by sender

    /// The step in which the sender writes into the receiver's place, for the transfer of `step`;
    /// nothing: the receiver fetches it.
    static std::optional<int> push_step(const Having& having, const Offer& offer, int step);

    /// The last step in which this rank has to do with a chunk, by chunk. For itself alone.
    std::unordered_map<int, int> last_step_of;
};

/// What this rank tells its peers.
PushFacts push_facts(const PlanRequest& request, Rank me, const Buffers& buffers);

/// What this rank has told, and what it has heard: there `havings` is by sender, `offers` by
/// receiver.
struct PushNegotiation {
    PushFacts told, heard;
};

DirectProgram compile_direct(const PlanRequest& request, Rank me, const Buffers& buffers,
                             const PushNegotiation& talk);

}  // namespace tutti
