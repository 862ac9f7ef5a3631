// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "autotune/table/selector.hpp"
#include "collectives/planner/operation_maker.hpp"
#include "collectives/world/different_calls.hpp"
#include "collectives/world/rendezvous/peer_messages.hpp"
#include "collectives/world/shared_memory.hpp"
#include "library/block_exchange.hpp"
#include "library/call_key.hpp"
#include "library/learner.hpp"
#include "library/two_way_index.hpp"
#include "tutti/call_arguments.hpp"
#include "tutti/communicator.hpp"

#pragma GCC visibility push(hidden)
namespace tutti {

/// Allocates pieces of memory that peers can access. There are few large arenas, because a plan
/// needs input and output in the same one. An arena takes addresses; memory only where it is
/// touched. All ranks make the same calls, so a piece has the same place on all ranks.
class RegisteredMemory {
public:
    explicit RegisteredMemory(World& world) : world_(world) {}

    /// Returns zeroed memory, aligned to cache lines. Returns unregistered memory if the ranks
    /// cannot share any. Collective.
    std::span<std::byte> allocate(std::size_t bytes);
    /// Throws Error if it was not allocated here.
    void release(std::span<std::byte> memory);

    /// Registers memory that the ranks share already, as an arena without free pieces. It must live
    /// until disown(), or longer than this object. All ranks make the same calls.
    void adopt(const ReachableMemory& memory);
    /// Returns the number of its arena, which may be reused; -1 if it was not adopted.
    std::int32_t disown(const ReachableMemory& memory);

    bool is_empty() const { return arenas_.empty(); }
    /// Returns the place of the buffer; without an arena if any of it is unregistered memory.
    RegisteredPlace place_of(std::span<const std::byte> buffer) const;
    /// Returns null for -1.
    const ReachableMemory* arena(std::int32_t number) const;

private:
    struct Arena {
        const ReachableMemory* shared = nullptr;  // null if the ranks cannot share any
        std::unique_ptr<ReachableMemory> own;     // owns `shared`, unless it was adopted
        std::unique_ptr<std::byte[]> unregistered;
        std::span<std::byte> memory;
        std::map<std::size_t, std::size_t> free;  // offset and size; neighbours are joined
        std::map<std::size_t, std::size_t> used;
    };
    Arena& new_arena(std::size_t at_least);
    static std::span<std::byte> take(Arena& arena, std::size_t bytes);

    World& world_;
    std::vector<Arena> arenas_;
};

/// Returns what holds for all ranks' buffers of a call. Throws DifferentCalls on all ranks if they
/// make different calls: making a plan together would deadlock. Collective, in a single exchange.
BuffersOfAll agree_on_call(World& world, const CallKey& key, const BufferTraits& buffers);

/// Returns the tuning of rank 0's host. Throws Error on all ranks if their options differ: they
/// would choose different algorithms and deadlock. Collective, in a single exchange, which also
/// tells whether all ranks know their peers (see trust_known_peers()).
HostTuning agree_on_options(World& world, const CommunicatorOptions& options);

/// Returns the transport of plans in an MPI program. The MPI library sends the messages between
/// hosts, as only that makes progress on them while the program waits in other MPI calls.
std::string_view transport_of_program(const World& world);

/// Moves choices for several hosts to that transport, and drops those that an MPI program cannot
/// use: other transports, and algorithms of the library that need a setting.
void keep_choices_of_program(std::vector<Configuration>& choices, const World& world);

struct CachedPlan;

/// The plan of a call.
struct KnownPlan {
    CachedPlan* plan = nullptr;  ///< null: none
    /// Whether it serves all types and operations of its class. A library may support only some.
    bool serves_class = false;
    Learner::Point* point = nullptr;  ///< if the communicator learns
    int arm = 0;                      ///< if the communicator learns: the configuration
};

/// The search that has left a call to a library.
struct LeftToLibrary {
    Learner::Point* point = nullptr;  ///< null: the call was not left
    int arm = 0;
    Learner::CallShape shape = {};
};

/// The sizes and offsets of a rank's buffers. In place, the offsets are those in the buffer that
/// holds both.
struct BufferSizes {
    std::size_t input = 0, output = 0;
    InPlace at = {};

    /// Returns the size of the buffer that holds both, in place.
    std::size_t together() const { return std::max(at.input + input, at.output + output); }
    /// Converts them from blocks to bytes.
    BufferSizes times(std::size_t bytes_of_block) const {
        return {input * bytes_of_block,
                output * bytes_of_block,
                {at.input * bytes_of_block, at.output * bytes_of_block}};
    }
};

/// The elements of a call's block.
struct BlockElements {
    DataType type = DataType::uint8;
    Op op = Op::sum;
    std::int64_t bytes = 0;  ///< of the block

    static BlockElements of(const Call& call) { return {call.type, call.op, block_bytes(call)}; }
    bool operator==(const BlockElements&) const = default;
};

/// A recent call and its plan. It is kept from the second call on that is like it: such calls may
/// differ in the length within the octave, and in type and operation, but have the same plan. One
/// place serves all of them; State::adapt() changes it from one to the other.
struct RecentCall {
    CallArguments given, settled;
    BlockElements elements;  ///< of both
    KnownPlan known;
    Learner::CallShape shape = {};  ///< if the communicator learns
    std::uint64_t number = 0;       ///< see RepeatableRun; 0: none
    std::uint64_t octaves = 0;      ///< see octaves_of(); 0: serves no other length
    std::int32_t arena = -1;        ///< of its buffers
    BufferSizes in_blocks = {};
    // With a table, unless the communicator learns:
    BufferKind buffers = BufferKind::unregistered;
    const Range* range = nullptr;
    BlockLengths lengths;  ///< of its blocks, if they differ: the caller's may change

    /// Returns whether the block lengths and the sizes of the buffers are equal. The other call
    /// must be like it, with as many elements.
    bool is(const CallArguments& other) const {
        return (given.call.lengths == nullptr || *given.call.lengths == *other.call.lengths) &&
               has_sizes_of(other.buffers);
    }
    /// Returns whether calls differ at most in their lengths, types and operations. So they may
    /// have different plans: adapt() tells.
    bool is_like(const CallArguments& other) const {
        const Call &one = given.call, &another = other.call;
        return known.plan != nullptr && one.collective == another.collective &&
               one.root == another.root &&
               (one.lengths == nullptr) == (another.lengths == nullptr) &&
               given.buffers.input.data() == other.buffers.input.data() &&
               given.buffers.output.data() == other.buffers.output.data() &&
               given.buffers.in_place == other.buffers.in_place;
    }
    // Buffers that this rank does not use may have any size.
    bool has_sizes_of(const CallBuffers& other) const {
        const CallBuffers& mine = given.buffers;
        const bool is_same_output = mine.output.size() == other.output.size();
        if (mine.in_place) return is_same_output;
        return (settled.buffers.input.empty() || mine.input.size() == other.input.size()) &&
               (settled.buffers.output.empty() || is_same_output);
    }
    /// Returns whether all arguments are equal.
    bool is_same(const CallArguments& other) const {
        const Call &one = given.call, &another = other.call;
        return one.count == another.count && one.type == another.type && one.op == another.op &&
               is_like(other) && is(other);
    }
    /// Returns whether other calls may have this type and operation.
    bool serves(DataType type, Op op) const {
        const Call& one = given.call;
        return (type == one.type && op == one.op) ||
               (known.serves_class &&
                class_of(one.collective, type) == class_of(one.collective, one.type) &&
                class_of(one.collective, op) == class_of(one.collective, one.op));
    }
    static std::uint64_t hash_of(const CallArguments& given) {
        // Ranks other than the root may have only one of the two.
        const auto address = reinterpret_cast<std::uintptr_t>(given.buffers.output.data()) ^
                             reinterpret_cast<std::uintptr_t>(given.buffers.input.data()) << 1;
        const Call& call = given.call;
        const auto bits = [](auto value, int place) {
            return static_cast<std::uint64_t>(value) << place;
        };
        const std::uint64_t number = bits(octave_id(block_bytes(call)), 0) |
                                     bits(call.collective, 8) | bits(call.root.index, 32);
        return (address ^ number * 0xD6E8FEB86659FD93U) * 0x9E3779B97F4A7C15U;
    }
};

/// Names a place of the recent calls. repeat() runs its call, or one like it, without a look-up, as
/// long as the place still has the call of this number.
struct RepeatableRun {
    RecentCall* place = nullptr;  ///< null: none
    std::uint64_t number = 0;

    /// Returns the last run in a place.
    static RepeatableRun of(RecentCall& place) { return {&place, place.number}; }
};

/// The common properties of all calls of one class.
struct KnownClass {
    CallClass of;
    KnownPlan known;
    DataType type = {};  ///< the only ones unless known.serves_class
    Op op = {};
    BufferSizes in_blocks;  ///< if the blocks have equal lengths
    // With a table:
    BufferKind buffers = BufferKind::unregistered;
    const Range* range = nullptr;
};

/// Clears the places of recent calls or known classes that have one of these plans.
template <class Places, class Is>
void forget_plans(Places& places, const Is& is) {
    for (auto& place : places)
        if (place.known.plan != nullptr && is(*place.known.plan)) place = {};
}

/// Programs repeat the same few calls. A recent call saves the check of the lengths and the look-up
/// of its class, and a known class saves that of its plan.
class RecentCalls {
public:
    /// Returns whether predictions are likely to be right.
    bool can_predict() const { return next_.is_confident(); }
    /// Returns the call that followed the current one last time.
    RecentCall& predicted() { return calls_[next_.predicted()]; }
    /// Returns the call of a hash, if it was kept. It may be another call.
    RecentCall& likely(std::uint64_t hash) { return calls_[kept_.likely(hash)]; }
    /// Notes that the current call is this one.
    void note_found(const RecentCall& call) {
        next_.note(static_cast<std::size_t>(&call - calls_.data()));
    }
    /// Notes a call that was not found. Returns whether it was noted before: only then keep it.
    bool note(std::uint64_t hash) { return noted_.note(hash); }
    /// Returns the place in which to keep a call.
    RecentCall& place_for(std::uint64_t hash) { return calls_[kept_.take(hash)]; }
    /// Forgets all: registered memory has changed.
    void forget() { calls_.fill({}); }
    /// Forgets the calls of these plans.
    template <class Is>
    void forget_if(const Is& is) {
        forget_plans(calls_, is);
    }

private:
    using Index = TwoWayIndex<7>;
    Index kept_, noted_;
    NextPlace<Index::places> next_;
    std::array<RecentCall, Index::places> calls_;
};

class KnownClasses {
public:
    /// Returns the place for a class. It may hold another one.
    KnownClass& place_of(const CallClass& of) { return classes_[index_.take(of.hash())]; }
    /// Forgets all: registered memory has changed.
    void forget() { classes_.fill({}); }
    /// Forgets the classes of these plans.
    template <class Is>
    void forget_if(const Is& is) {
        forget_plans(classes_, is);
    }

private:
    using Index = TwoWayIndex<7>;
    Index index_;
    std::array<KnownClass, Index::places> classes_;
};

/// A cached plan, or a cached call of a library. Slots are reused but never freed, so a Request of
/// an earlier run can still query its slot.
struct Request::Slot {
    Communicator::State* owner = nullptr;
    std::unique_ptr<Operation> operation;
    Plan* plan = nullptr;  ///< the same object; null for a call of a library
    std::uint64_t run = 0;
    const void* bound_by = nullptr;  ///< the RecentCall whose buffers it is bound to, if any

    bool is_done() const { return plan == nullptr || plan->is_done(); }
};

/// The plans of one kind of call.
struct CachedPlan {
    CallKey key;  ///< of the calls that they serve
    Configuration configuration;
    bool is_of_one_call = false;  ///< they serve one length only
    bool is_ours = false;
    /// Used round-robin. Several if calls of this kind were pending at the same time.
    std::vector<Request::Slot*> slots;
    std::size_t next = 0;
    std::uint64_t starts = 0;
    std::uint64_t last_use = 0;
    std::uint64_t uses = 0;  ///< counted if the communicator learns
};

/// The plan that is chosen for the calls of an octave.
struct ChosenPlan {
    CachedPlan* plan = nullptr;
    bool is_as_requested = true;  ///< false if it is a fallback

    /// Returns whether it is chosen for all types and operations of its class, too.
    bool serves_class() const { return is_as_requested && plan->is_ours; }
};

/// The implementation of Communicator.
struct Communicator::State {
    /// Preloaded into an MPI program, all calls are blocking, use transport_of_program() and get
    /// plans at once. The destructor does not wait for peers: they have mapped the memory that they
    /// still read.
    enum class Use : std::uint8_t { by_program, preloaded };
    State(std::unique_ptr<World> own, World& world, CommunicatorOptions options,
          Use use = Use::by_program);
    ~State();

    /// Returns the comparable() call with the parts of the buffers that this rank uses. Throws
    /// Error for wrong lengths.
    CallArguments settled(const CallArguments& given) const;
    CallArguments settled(const CallArguments& given, const BufferSizes& sizes) const;
    CallKey key_of(const CallArguments& given, CallMode mode) const;
    /// Returns the call with the lengths of all ranks' blocks, which stay until the next such call.
    /// Throws Error for wrong counts. Collective if no rank knows all counts.
    CallArguments with_lengths(CallArguments given, const BlockCounts& counts);

    void run(const CallArguments& given);
    /// Runs the call again with a block of these elements, in buffers of just that size. Returns
    /// false if it did nothing: use run(). Some ranks may repeat() a call that others run().
    bool repeat(const RepeatableRun& call, const BlockElements& elements);
    std::span<std::byte> allocate(std::size_t bytes);
    void release(std::span<std::byte> memory);
    void adopt(const ReachableMemory& memory);
    void disown(const ReachableMemory& memory);
    Request start(const CallArguments& given);
    /// Makes progress on all pending calls; returns whether this one is complete. Throws Error
    /// (Exit::rank_lost) after many tests if a rank has ended.
    bool test(Request::Slot& slot);
    Configuration choice_for(const CallArguments& given);
    /// Throws Error if these ranks have none. Thread-safe.
    PeerMessages& peer_messages() {
        if (is_broken) refuse();
        if (messages) return *messages;
        throw Error("send and receive need ranks of a rendezvous; with MPI, use MPI_Send");
    }
    /// Returns the plan of a call. Makes a new one with the preferred configuration if possible,
    /// else with the best that works. `preferred` lives as long as this object. Collective if it is
    /// new.
    ChosenPlan plan_for(const CallKey& key, const CallArguments& settled,
                        const Configuration* preferred = nullptr);

    /// Runs a function. An error breaks the communicator, as other ranks may not have it; except
    /// Exit::usage, which is thrown before anything is sent. Different calls are a mistake of the
    /// program, so they have that code, too. Inlined so that captured variables stay in registers.
    template <class Do>
    [[gnu::always_inline]] void guarded(Do&& what) {
        if (is_broken) refuse();
        try {
            what();
        } catch (const DifferentCalls& error) {
            is_broken = true;
            throw Error(error.what(), Exit::usage);
        } catch (const Error& error) {
            is_broken = is_broken || error.code() != Exit::usage;
            throw;
        } catch (...) {  // for example out of memory, on this rank alone
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
    std::optional<PeerMessages> messages;  ///< if the ranks are of a rendezvous
    std::list<CachedPlan> plans;
    std::int64_t making_ns = 0;   ///< time spent on making plans
    std::uint64_t evictions = 0;  ///< number of plans evicted from the cache
    std::atomic<bool> is_broken = false;
    const bool is_preloaded;
    /// Set by run() if the call was left to a library, because a search has found that faster.
    /// While the search says so, calls like it need not come here.
    LeftToLibrary left_to_library;
    /// The place of the last run(), if that was of a recent call; else null.
    RecentCall* last_recent = nullptr;
    /// Set before a run() of a call that is usually done by repeat(), for the learner.
    bool is_usually_repeated = false;

private:
    // Drives pending calls while ranks make a plan together: a late rank may wait for them.
    struct PlanProgress final : Progressable {
        explicit PlanProgress(State& its_state) : state(its_state) {}
        void make_progress() override {
            if (!state.is_broken) state.planner.progress().poll();
        }
        State& state;
    };

    [[noreturn]] static void refuse();
    void check_root(const Call& call) const;
    void check_counts(const Call& call, std::span<const std::int64_t> counts) const;
    void exchange_lengths(const Call& call);
    void exchange_with_root(const CallArguments& given, std::span<const std::int64_t> counts);
    void exchange_of_pairs(const CallArguments& given, const BlockCounts& counts);
    Error no_algorithm(const CallKey& key) const;
    // Identifies calls with the same configuration: those of an octave in the same range of the
    // table, or with the same preferred one. A search has its own, and blocks of an octave may
    // belong to two searches, which are by the size of all blocks.
    struct ChoiceKey {
        CallKey octave;
        const Range* range = nullptr;
        const Configuration* preferred = nullptr;
        bool of_class = false;  // for all types and operations of a class
        bool operator==(const ChoiceKey&) const = default;
    };
    struct HashOfChoiceKey {
        std::size_t operator()(const ChoiceKey& key) const noexcept {
            return HashOfCallKey{}(key.octave) ^ std::hash<const void*>{}(key.range) ^
                   std::hash<const void*>{}(key.preferred);
        }
    };

    static ChoiceKey of_class(ChoiceKey key);
    const ChosenPlan* known_choice(const ChoiceKey& key) const;
    void keep_choice(const ChoiceKey& key, const ChosenPlan& chosen);

    // The ranks have agreed on this in the current call, if they had to.
    using Agreed = std::optional<BuffersOfAll>;
    void agree(Agreed& agreed, const CallKey& key, const CallArguments& settled);
    ChosenPlan choose(const CallKey& key, const CallArguments& settled,
                      const Configuration* preferred, const Range* range, const Agreed& agreed);
    CachedPlan* find_or_make(const CallKey& key, const Configuration& configuration,
                             const CallArguments& settled, const Agreed& agreed);
    void find_kind(Agreed& agreed, const CallKey& key, const CallArguments& settled);
    const Range* range_of(const CallKey& key, const CallArguments& settled) const;
    Learner::Point& point_of(const CallKey& key, const CallArguments& call);
    KnownPlan plan_without_learning(CallKey key, const CallArguments& call);

    // A call whose lengths have been checked, with the place of its class.
    struct CheckedCall {
        CallKey key;
        CallArguments settled;
        CallClass of_class;
        std::int64_t bytes;  // size of all blocks
        KnownClass* place;
    };
    CheckedCall checked(const CallArguments& given, CallMode mode);
    std::int64_t bytes_of_all(const Call& call) const;
    void keep(RecentCall& recent, const CallArguments& given, const CheckedCall& call,
              const KnownPlan& known, Learner::CallShape shape);
    bool adapt(RecentCall& recent, const BlockElements& elements);
    [[gnu::noinline]] void look_up_and_run(const CallArguments& given);
    bool run_found(RecentCall& recent);
    void run_recent(RecentCall& recent, Learner::Needs needs, double untimed_ns);
    [[gnu::noinline]] void run_timed(RecentCall& recent, double untimed_ns);
    [[gnu::noinline]] void run_checked(const CallArguments& given, bool is_recent);
    double take_untimed_ns();
    static Learner::Needs needs_of(const KnownPlan& known, Learner::CallShape shape);
    Learner::Needs needs_of(const CheckedCall& call, Learner::CallShape shape);
    void tell_if_left(const KnownPlan& known, Learner::CallShape shape);
    double time_since(std::int64_t began_ns, const CachedPlan& plan, double untimed_ns) const;
    void has_run(const KnownPlan& known, Learner::CallShape shape, std::int64_t began_ns,
                 double untimed_ns);
    std::int64_t begin_timing(const CallArguments& given, const CachedPlan& plan, bool is_recent);
    // Returns no plan if the search has dropped it after this call.
    KnownPlan run_and_learn(const CallArguments& given, const CheckedCall& checked_call,
                            bool is_recent, double untimed_ns);
    void remember(const CheckedCall& call, const KnownPlan& known);
    BufferSizes sizes_of(const Call& call) const;
    void forget_recent() {
        recent_.forget();
        classes_.forget();
    }
    // Nearly always the best guess works, and to list all takes as long as to make a plan of it.
    enum class Fallbacks : std::uint8_t { near, all };
    std::vector<Configuration> configurations(const CallKey& key, const Configuration* preferred,
                                              const Range* range, const Agreed& agreed,
                                              Fallbacks fallbacks);
    BufferKind kind_of(const CallKey& key, const BuffersOfAll& all);
    OperationRequest request_for(const CallKey& key, const CallArguments& settled,
                                 const Agreed& agreed) const;
    Request::Slot& new_slot(std::unique_ptr<Operation> operation);
    Request::Slot& slot_to_start(CachedPlan& cached, const CallKey& key,
                                 const CallArguments& settled);
    template <class Is>
    void forget_if(Is&& is);
    void evict_the_oldest();
    void forget_plans_of(const Configuration& dropped);
    void run_plan(CachedPlan& plan, const CallArguments& call, const void* bound_by = nullptr);
    void run_slot(Request::Slot& slot, const CallArguments& call, const void* bound_by = nullptr);

    PlanProgress plan_progress_;
    std::deque<Request::Slot> slots_;
    std::vector<Request::Slot*> free_slots_;
    unsigned tests_in_vain_ = 0;
    std::uint64_t uses_ = 0;  // equal on all ranks, because it decides which plan is evicted
    RecentCalls recent_;
    std::uint64_t last_number_ = 0;  // the last one that a RecentCall got
    KnownClasses classes_;
    std::vector<std::int64_t> blocks_of_total_;  // that total_bytes() counts, by collective
    std::unordered_map<ChoiceKey, ChosenPlan, HashOfChoiceKey> choices_;
    std::unordered_map<CallKey, BufferKind, HashOfCallKey> kinds_;  // by of_plan(); with a table

    BlockLengths lengths_;  // lengths of the last call with different ones
    BlockExchange exchange_;
};

}  // namespace tutti
#pragma GCC visibility pop
