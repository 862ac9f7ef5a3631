// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <unordered_map>

#include "autotune/table/selector.hpp"
#include "collectives/planner/operation_maker.hpp"
#include "library/call_key.hpp"
#include "library/communicator.hpp"
#include "library/learner.hpp"
#include "library/recent_calls.hpp"
#include "library/registered_memory.hpp"

namespace tutti {

/// One plan, or a library's call, that is kept. Its memory outlives it, so that a Request of an
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
    bool is_as_wished = true;  ///< the first configuration that was asked for did
    /// Where calls of this kind may be under way at the same time, as many plans as that took so
    /// far; they take turns.
    std::vector<Request::Slot*> slots;
    std::size_t next = 0;
    std::uint64_t starts = 0;
    std::uint64_t last_use = 0;
    std::uint64_t uses_so_far = 0;  ///< of one that learns
};

/// What a communicator is made of.
struct Communicator::State {
    State(std::unique_ptr<World> own, World& world, CommunicatorOptions options);
    ~State();

    /// The parts of the arguments that play a part on this rank. Throws Error for wrong lengths.
    CallArguments settled(const CallArguments& given) const;
    CallKey key_of(const CallArguments& given, Form form) const;

    void run(const CallArguments& given);
    std::span<std::byte> allocate(std::size_t bytes);
    void release(std::span<std::byte> memory);
    void adopt(const ReachableMemory& memory);
    void disown(const ReachableMemory& memory);
    Request start(const CallArguments& given);
    Configuration choice_for(const CallArguments& given);
    /// By the configuration if it can be, else by the best that is known. Collective when new.
    CachedPlan& kept(const CallKey& key, const CallArguments& settled,
                     const Configuration* wish = nullptr);

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
    std::optional<JobShape> setting;
    std::optional<Selector> selector;
    std::optional<Learner> learner;
    std::unordered_map<CallKey, CachedPlan, HashOfCallKey> calls;
    bool is_broken = false;

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
    CachedPlan& make(const CallKey& key, const CallArguments& settled, const Configuration* wish);
    RecentCall run_and_learn(CallKey key, const CallArguments& call);
    Learner::Spot& spot_of(const CallKey& key, const CallArguments& call);
    CachedPlan& kept_for_start(CallKey key, const CallArguments& call);
    std::vector<Configuration> wishes(const CallKey& key, const Configuration* wish) const;
    OperationRequest wish_for(const CallKey& key, const CallArguments& settled) const;
    Request::Slot& new_slot(std::unique_ptr<Operation> operation);
    Request::Slot& slot_to_start(CachedPlan& kept, const CallKey& key,
                                 const CallArguments& settled);
    template <class Is>
    void forget_if(Is&& is);
    void forget_the_oldest();
    void run_slot(Request::Slot& slot, const CallBuffers& buffers, const void* bound_by = nullptr);

    PlanProgress plan_progress_;
    std::deque<Request::Slot> slots_;
    std::vector<Request::Slot*> free_slots_;
    std::uint64_t uses_ = 0;  // the same on all ranks, as it decides who is forgotten
    RecentCalls recent_;
};

}  // namespace tutti
