// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "autotune/table/selector.hpp"
#include "collectives/planner/operation_maker.hpp"
#include "collectives/world/rendezvous/peer_messages.hpp"
#include "collectives/world/shared_memory.hpp"
#include "library/call_key.hpp"
#include "library/learner.hpp"
#include "library/plan_admission.hpp"
#include "tutti/call_arguments.hpp"
#include "tutti/communicator.hpp"

#pragma GCC visibility push(hidden)
namespace tutti {

/// Memory that peers can reach, dealt out in pieces: from few large arenas, as a plan takes input
/// and output from one. An arena costs addresses; memory only where it is touched. All ranks
/// allocate and release alike, so pieces have equal places on all.
class RegisteredMemory {
public:
    explicit RegisteredMemory(World& world) : world_(world) {}

    /// Zeroed, at a cache line of its own. Unregistered memory where ranks cannot share any.
    /// Collective.
    std::span<std::byte> allocate(std::size_t bytes);
    /// Throws Error if it was not allocated here.
    void release(std::span<std::byte> memory);

    /// Memory that the ranks share already; nothing is allocated in it. It lives until disown(), or
    /// longer than this. All ranks adopt and disown alike.
    void adopt(const ReachableMemory& memory);
    /// The number that its arena had, which the next one adopted may get; -1 if it was none.
    std::int32_t disown(const ReachableMemory& memory);

    /// Where the buffer lies; of no arena if it is (partly) unregistered memory.
    RegisteredPlace place_of(std::span<const std::byte> buffer) const;
    /// Null for none.
    const ReachableMemory* arena(std::int32_t number) const;

private:
    struct Arena {
        const ReachableMemory* shared = nullptr;  // none where the ranks cannot share any
        std::unique_ptr<SharedMemory> own;        // the same, unless it was adopted
        std::unique_ptr<std::byte[]> unregistered;
        std::span<std::byte> memory;
        std::map<std::size_t, std::size_t> free;  // offset, bytes; neighbours are joined
        std::map<std::size_t, std::size_t> used;
    };
    Arena& new_arena(std::size_t at_least);
    static std::span<std::byte> take(Arena& arena, std::size_t bytes);

    World& world_;
    std::vector<Arena> arenas_;
};

/// Throws Error (a rank is lost), on all ranks alike, where ranks ask for different calls: plans
/// are made together, so they would wait for each other in vain. Collective.
void check_same_call(World& world, const CallKey& key);

/// Throws Error, on all ranks alike, where ranks were given different tables or learn differently:
/// they would make plans by different algorithms, and wait for each other in vain. Collective.
void check_same_options(World& world, const CommunicatorOptions& options);

struct CachedPlan;

/// A call that was made lately, and what does it.
struct RecentCall {
    CallArguments given;
    CallBuffers settled;
    CachedPlan* plan = nullptr;       ///< null: none
    Learner::Point* point = nullptr;  ///< of one that learns
    Learner::CallShape shape = {};    ///< then
    int arm = 0;                      ///< and what does it

    bool is(const CallArguments& other) const {
        const auto is_same = [](const auto& one, const auto& another) {
            return one.data() == another.data() && one.size() == another.size();
        };
        return plan != nullptr && given.call == other.call &&
               is_same(given.buffers.input, other.buffers.input) &&
               is_same(given.buffers.output, other.buffers.output) &&
               given.buffers.in_place == other.buffers.in_place;
    }
};

/// A cache of recent calls, found without counting lengths and looking up keys: programs make the
/// same few calls over and over. Each has one place, which a later one may take.
class RecentCalls {
public:
    /// What is there may be another call.
    RecentCall& place_of(const CallArguments& given) {
        const auto address = reinterpret_cast<std::uintptr_t>(given.buffers.output.data());
        const std::uint64_t mixed =
            (address >> 6) ^ static_cast<std::uint64_t>(given.call.count) * 0x9E3779B97F4A7C15U;
        return calls_[(mixed ^ mixed >> 32) % places];
    }
    /// Where what does calls, or how memory is registered, has changed.
    void forget() { calls_.fill({}); }

private:
    static constexpr std::size_t places = 64;  // a power of two
    std::array<RecentCall, places> calls_;
};

/// One plan, or a library's call, that is cached. Its memory outlives it, so that a Request of an
/// earlier run can always ask.
struct Request::Slot {
    Communicator::State* owner = nullptr;
    std::unique_ptr<Operation> operation;
    Plan* plan = nullptr;  ///< the same, unless it is a library's
    std::uint64_t run = 0;
    const void* bound_by =
        nullptr;  ///< who gave it the buffers that it has, if that can come again

    bool is_done() const { return plan == nullptr || plan->is_done(); }
};

/// How one kind of call is done.
struct CachedPlan {
    Configuration configuration;
    bool is_as_requested = true;  ///< the first configuration that was asked for did
    /// Where calls of this kind may be under way at the same time, as many plans as that took so
    /// far, used round-robin.
    std::vector<Request::Slot*> slots;
    std::size_t next = 0;
    std::uint64_t starts = 0;
    std::uint64_t last_use = 0;
    std::uint64_t uses = 0;  ///< of one that learns
};

/// What a communicator is made of.
struct Communicator::State {
    State(std::unique_ptr<World> own, World& world, CommunicatorOptions options);
    ~State();

    /// The parts of the arguments that play a part on this rank. Throws Error for wrong lengths.
    CallArguments settled(const CallArguments& given) const;
    CallKey key_of(const CallArguments& given, CallMode mode) const;

    void run(const CallArguments& given);
    std::span<std::byte> allocate(std::size_t bytes);
    void release(std::span<std::byte> memory);
    void adopt(const ReachableMemory& memory);
    void disown(const ReachableMemory& memory);
    Request start(const CallArguments& given);
    Configuration choice_for(const CallArguments& given);
    /// Throws Error where these ranks have none. By any thread.
    PeerMessages& peer_messages() {
        if (is_broken) refuse();
        if (messages) return *messages;
        throw Error(
            "only ranks of a rendezvous send each other messages here; those of MPI have MPI_Send");
    }
    /// Made by the configuration if possible, else by the best that can run. Collective when new.
    CachedPlan& plan_for(const CallKey& key, const CallArguments& settled,
                         const Configuration* preferred = nullptr);

    /// After an error that others may not share, nothing can be relied on.
    template <class Do>
    void guarded(Do&& what) {
        if (is_broken) refuse();
        try {
            what();
        } catch (const Error& error) {
            is_broken = is_broken || error.code() != Exit::usage;
            throw;
        } catch (...) {  // out of memory, say: others do not know of it
            is_broken = true;
            throw;
        }
    }

    std::unique_ptr<World> own;
    World& world;
    CommunicatorOptions options;
    Planner planner;
    RegisteredMemory registered;
    std::optional<JobShape> job_shape;
    std::optional<Selector> selector;
    std::optional<Learner> learner;
    std::optional<PeerMessages> messages;  ///< of ranks of a rendezvous
    std::unordered_map<CallKey, CachedPlan, HashOfCallKey> calls;
    std::int64_t making_ns = 0;   ///< time that this rank has spent on making plans
    std::uint64_t evictions = 0;  ///< plans that made room for others
    std::atomic<bool> is_broken = false;
    /// True when preloaded into an MPI program. Then no communicators are made, all calls are
    /// blocking, stay on one host and get plans. Destruction does not wait for peers: they have
    /// mapped the memory that they still read.
    bool is_preloaded = false;

private:
    // What is under way goes on while ranks meet to make a plan: one of them may wait for it.
    struct PlanProgress final : Progressable {
        explicit PlanProgress(State& its_state) : state(its_state) {}
        void make_progress() override {
            if (!state.is_broken) state.planner.progress().poll();
        }
        State& state;
    };

    [[noreturn]] static void refuse();
    CachedPlan& make(const CallKey& key, const CallArguments& settled,
                     const Configuration* preferred);
    bool is_admitted(const CallArguments& call, CallMode mode);
    /// `call` is given as settled, unless that is still to be done.
    void run_planned(const CallArguments& given, const CallArguments* call = nullptr);
    void run_in_slot(const CallArguments& call);
    RecentCall run_and_learn(CallKey key, const CallArguments& call);
    Learner::Point& point_of(const CallKey& key, const CallArguments& call);
    CachedPlan& plan_for_start(CallKey key, const CallArguments& call);
    std::vector<Configuration> configurations(const CallKey& key, const Configuration* preferred,
                                              BufferKind kind) const;
    OperationRequest request_for(const CallKey& key, const CallArguments& settled) const;
    Request::Slot& new_slot(std::unique_ptr<Operation> operation);
    Request::Slot& slot_to_start(CachedPlan& cached, const CallKey& key,
                                 const CallArguments& settled);
    template <class Is>
    void forget_if(Is&& is);
    void forget_the_oldest();
    void run_slot(Request::Slot& slot, const CallBuffers& buffers, const void* bound_by = nullptr);

    PlanProgress plan_progress_;
    std::deque<Request::Slot> slots_;
    std::vector<Request::Slot*> free_slots_;
    PlanAdmission admission_{/*free_plans=*/4};
    std::uint64_t uses_ = 0;  // the same on all ranks, as it decides who is forgotten
    RecentCalls recent_;
    std::span<std::byte> slot_memory_;  // registered memory for slots
};

}  // namespace tutti
#pragma GCC visibility pop
