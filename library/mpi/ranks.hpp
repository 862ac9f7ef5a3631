// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "kernels/sets.hpp"
#include "library/block_exchange.hpp"
#include "library/communicator_state.hpp"
#include "library/mpi/known_calls.hpp"
#include "library/mpi/lengths.hpp"
#include "library/mpi/turns.hpp"
#include "library/plan_admission.hpp"

namespace tutti {

/// The settings from the environment. Set while MPI starts, before any call is taken over.
extern PreloadSettings preloaded;

/// Set while MPI starts. False under launchers that do not tell.
extern bool job_has_several_hosts;

/// Whether the program has called MPI_Comm_idup.
extern std::atomic<bool> duplicates_without_waiting;

/// MPI's error code of a call, or none. It fits in one register. A std::optional<int> is stored as
/// two parts and loaded as one, which defeats store forwarding: the load waits until all earlier
/// stores have reached the cache, also the last one to a peer's memory.
class CodeIfDone {
public:
    constexpr CodeIfDone() = default;
    constexpr CodeIfDone(int code) : code_(code) {}
    constexpr explicit operator bool() const { return code_ != none; }
    constexpr int operator*() const { return code_; }

private:
    static constexpr int none = std::numeric_limits<int>::min();  // no MPI library uses this code
    int code_ = none;
};

/// The ranks of a communicator of the program. Decides which calls tutti does, and does them. It is
/// an attribute of the communicator, so it ends when that is freed. Its MPI communication happens
/// inside the program's own collectives on that communicator: collectives on it and, across hosts,
/// on communicators made from it, and messages on one of these.
class Ranks {
public:
    explicit Ranks(MPI_Comm comm);
    ~Ranks();
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    MPI_Comm comm() const { return comm_; }
    bool has(int root) const { return root >= 0 && root < size_; }
    /// Returns whether tutti may do any call.
    bool may_take() const { return stage_ != Stage::the_librarys; }

    /// Repeats a call that take_turn() has done before, perhaps with another length and operation,
    /// without looking it up. Returns no code if it cannot: then call take_turn(). Some ranks may
    /// repeat a call that others do not, because both functions choose the same implementation.
    template <class Library>
    CodeIfDone repeat(const ProgramCall& call, const Library& by_library) {
        is_known_ = false;
        const KnownCall* const known = known_calls_.find(call);
        if (known == nullptr) return {};
        BlockElements adapted;
        const bool is_same = known->is(call);
        LeftCalls* const left = is_same ? known->left : adapt(adapted, *known, call);
        if (left == nullptr || (is_same && left->key != known->key)) return {};
        const auto& elements = is_same ? known->elements : std::as_const(adapted);
        const CodeIfDone code = repeat(*known, *left, elements, by_library);
        if (!code) is_known_ = is_same;  // else an error handler may have freed this object
        return code;
    }
    /// Lets the MPI library or tutti do the call. `by_library` returns an MPI error code,
    /// `by_tutti` throws Error. All ranks must pass the same bytes, and calls of the same kind,
    /// root and has_lengths; only these determine which of the two does the call.
    template <class Library, class Tutti>
    int take_turn(const ProgramCall& call, std::int64_t bytes, const Library& by_library,
                  const Tutti& by_tutti) {
        const CallKind kind = call.kind;
        const bool is_known = std::exchange(is_known_, false);
        if (is_too_early(kind)) return passed(kind, bytes, by_library);
        LeftCalls& left = left_calls_.of(call, bytes_of_all(kind, bytes));
        if (!turns_)
            if (const auto code = left_to_library(left, by_library)) {
                if (*code == MPI_SUCCESS) keep(call, bytes, left);
                return *code;
            }
        if (is_rare(kind, bytes, call.root)) return pass_rare_call(kind, bytes, by_library);
        return take_admitted_turn(kind, bytes, by_library, [&] {
            if (turns_)
                if (const auto code = left_to_library(left, by_library)) {
                    if (*code == MPI_SUCCESS) turns_->of(size_class(kind, bytes)).count_left();
                    return *code;
                }
            uses_scratch_ = false;
            state_->is_usually_repeated = is_known;
            const int code = guarded(by_tutti);
            if (code != MPI_SUCCESS) return code;  // an error handler may have freed all this
            save_decision(left);
            if (!turns_ && !uses_scratch_ && state_->last_recent != nullptr)
                keep(call, bytes, left, RepeatableRun::of(*state_->last_recent));
            return code;
        });
    }
    /// The same for a call that is not rare, with a `by_tutti` that returns an MPI error code.
    /// `asking_ns`: time that agreeing on it has taken.
    template <class Library, class Tutti>
    int take_admitted_turn(CallKind kind, std::int64_t bytes, const Library& by_library,
                           const Tutti& by_tutti, double asking_ns = 0) {
        if (!has_begun()) return passed(kind, bytes, by_library);
        if (!turns_) return by_tutti();
        ClassTurns& turns = turns_->of(size_class(kind, bytes));
        const ClassTurns::Turn turn = turns.next(preloaded);
        const std::int64_t began = turn.is_timed ? now_ns() : 0;
        const int code = turn.by == By::library ? by_library() : by_tutti();
        if (turn.is_timed && code == MPI_SUCCESS)  // else the communicator may be freed
            turns.took(ns_since(began) + (turn.by == By::tutti ? asking_ns : 0), turn);
        return code;
    }

    /// Like take_turn(), for calls in which no rank may know all lengths of blocks. `tell` gives
    /// the exchange what this rank knows; `by_tutti` finds all of them in lengths(). If a rank
    /// expects other lengths, the MPI library does the call and reports the error. Calls that are
    /// passed to the MPI library count as 0 bytes, because the ranks know different lengths.
    template <class Library, class Tell, class Tutti>
    int take_agreed_turn(CallKind kind, int root, const Library& by_library, const Tell& tell,
                         const Tutti& by_tutti) {
        Refusals& refusals = at(refusals_, kind);
        if (!may_meet(kind) || (!preloaded.always && refusals.skip_one()))
            return passed(kind, 0, by_library);
        const std::int64_t began = turns_ ? now_ns() : 0;
        std::int64_t longest = 0;
        const int code = guarded([&] {
            tell(exchange_);
            longest = agree_on_lengths();
        });
        if (code != MPI_SUCCESS) return code;
        if (!is_for_tutti(longest, size_) || !(preloaded.always || pays_with_exchange(longest))) {
            refusals.add();
            return passed(kind, 0, by_library);
        }
        if (is_rare(kind, longest, root)) {
            refusals.add_rare();
            return pass_rare_call(kind, 0, by_library);
        }
        refusals = {};
        return take_admitted_turn(
            kind, longest, by_library, [&] { return guarded(by_tutti); },
            turns_ ? ns_since(began) : 0);
    }

    /// Sets the lengths of the next call's blocks, which are equal on all ranks, and returns the
    /// longest; invalid_length if one of them is.
    template <class Lengths>
    std::int64_t set_lengths(const Lengths& lengths) {
        counts_.assign(lengths.begin(), lengths.end());
        if (std::ranges::find(counts_, invalid_length) != counts_.end()) return invalid_length;
        lengths_.set(counts_);
        return lengths_.longest();
    }
    const BlockLengths& lengths() const { return lengths_; }
    /// Returns the lengths for a call whose blocks differ; null if all are equal.
    const BlockLengths* unequal_lengths() const {
        const std::int64_t blocks = lengths_.blocks();
        return lengths_.longest() * blocks == lengths_.before(blocks) ? nullptr : &lengths_;
    }

    /// Returns whether ranks may wait for each other in a call in which the MPI library would not
    /// wait. That pays on one host if each rank has its own core. If false, pass the call to
    /// passed().
    bool may_meet(CallKind kind) {
        // Oversubscription is known only after begin(), which costs as much as many calls. So wait
        // 8 times as long before it; in a job on several hosts, for other calls.
        const bool is_new = stage_ == Stage::new_ones;
        if (is_new && job_has_several_hosts && !preloaded.always) return false;
        return !is_too_early(kind, is_new ? 8 : 1) && has_begun() && may_meet_;
    }
    /// Returns whether may_meet() stays false, and no report needs the number of calls.
    bool never_meet() const { return never_meet_; }
    /// Returns whether the MPI library does the barriers: on one host whose ranks share cores.
    /// There, tutti's are not faster, and the library's next call takes longer after them: within
    /// its own barrier, the library already receives messages of that next call.
    bool leaves_barriers() const { return leaves_barriers_; }
    /// Passes a call to the MPI library.
    template <class Library>
    int passed(CallKind kind, std::int64_t bytes, const Library& by_library) {
        if (turns_) turns_->of(size_class(kind, bytes)).count_passed();
        return by_library();
    }
    /// Like passed(), for a length that repeats too rarely for a plan.
    template <class Library>
    int pass_rare_call(CallKind kind, std::int64_t bytes, const Library& by_library) {
        if (turns_) turns_->of(size_class(kind, bytes)).count_rare();
        return by_library();
    }

    /// Runs a blocking collective. There are no others, so the ranks need not meet at the end.
    void run(const CallArguments& arguments) {
        count_work(block_bytes(arguments.call));
        state_->run(arguments);
    }

    /// Returns scratch memory for the duration of one call.
    enum class Scratch : std::uint8_t { input, output };
    std::span<std::byte> scratch(Scratch which, std::size_t bytes);

    /// Returns when tutti took over; 0 if it did not.
    std::int64_t began_ns() const { return began_ns_; }

    /// Frees tutti's resources. The MPI library does all later calls.
    void leave();

private:
    // Makes progress on the program's messages: a late peer may wait for one of them.
    struct ProgressOfMpi final : Progressable {
        void make_progress() override;
    };
    enum class Stage : std::uint8_t { new_ones, ours, the_librarys };
    // After each refused call, skips more of the following ones without asking.
    class Refusals {
    public:
        bool skip_one() {
            if (left_ == 0) return false;
            --left_;
            return true;
        }
        void add() {
            rare_ = 0;
            skip_more();
        }
        // The call has no plan yet. Calls get one if they come in quick succession, so none is
        // skipped before many in a row had none.
        void add_rare() {
            constexpr int many = 64;
            if (++rare_ > many) skip_more();
        }

    private:
        void skip_more() { left_ = last_ = std::min(2 * last_ + 1, 63); }

        int last_ = 0, left_ = 0, rare_ = 0;
    };

    // Sets `elements` to those of a call that is like a known one. Returns what is known about such
    // calls; null if that is not known, or the call is too long: then it needs take_turn().
    [[gnu::noinline]] LeftCalls* adapt(BlockElements& elements, const KnownCall& known,
                                       const ProgramCall& call) {
        constexpr auto most = static_cast<std::int64_t>(most_bytes);
        if (call.elements() <= 0 || call.elements() > most) return nullptr;
        const auto found = known.elements_of(call);
        if (!found) return nullptr;
        elements = *found;
        const std::int64_t all = bytes_of_all(call.kind, elements.bytes);
        return all > most ? nullptr : left_calls_.find(AllLeftCalls::key_of(call, all));
    }
    template <class Library>
    CodeIfDone repeat(const KnownCall& known, LeftCalls& left, const BlockElements& elements,
                      const Library& by_library) {
        if (stage_ != Stage::ours) return {};
        if (left.point != nullptr) return left_to_library(left, by_library);
        if (known.run.place == nullptr || !(admits_all() || has_plan(known.admission))) return {};
        bool is_done = false;
        const int code = guarded([&] {
            is_done = state_->repeat(known.run, elements);
            if (!is_done) return;
            count_work(elements.bytes);
            if (!admits_all()) admission_.is_admitted(known.admission);  // counts it
            save_decision(left);
        });
        return is_done || code != MPI_SUCCESS ? CodeIfDone(code) : CodeIfDone();
    }
    std::int64_t bytes_of_all(CallKind kind, std::int64_t bytes) const {
        return is_of_blocks(kind) ? bytes * size_ : bytes;
    }
    bool is_too_early(CallKind kind, int times = 1) {
        std::int64_t& calls = at(calls_, kind);
        if (calls >= first_calls_ * times && may_take() &&
            (has_agreed_ || agree_on_first_calls(calls, times)))
            return false;
        ++calls;
        return true;
    }
    static bool admits_all() { return preloaded.always || preloaded.turn_calls > 0; }
    static std::uint64_t admission_key(CallKind kind, std::int64_t bytes, int root) {
        return static_cast<std::uint64_t>(octave_of(bytes)) << 20 ^
               static_cast<std::uint64_t>(root) << 4 ^ static_cast<std::uint64_t>(kind);
    }
    /// Returns whether calls of this octave of sizes repeat too rarely for a plan; equal on all
    /// ranks.
    bool is_rare(CallKind kind, std::int64_t bytes, int root) {
        if (admits_all()) return false;
        const std::uint64_t key = admission_key(kind, bytes, root);
        if (state_ && state_->evictions == known_evictions_ && admission_.is_admitted(key))
            return false;
        return !is_admitted(key, bytes * size_);
    }
    bool has_plan(std::uint64_t admission) {
        return state_->evictions == known_evictions_ && admission_.has_plan(admission);
    }
    // Stores whether the last call was left to the library. Usually it was not: then only that is
    // stored, because copying the rest would stall on store forwarding (see CodeIfDone).
    void save_decision(LeftCalls& left) {
        LeftToLibrary& last = state_->left_to_library;
        if (last.point == nullptr) {
            left.point = nullptr;
            return;
        }
        static_cast<LeftToLibrary&>(left) = last;
        last.point = nullptr;
    }
    // Lets the MPI library do a call that it does faster, unless the search wants to try others.
    // Such calls do not even come to the communicator.
    template <class Library>
    CodeIfDone left_to_library(LeftCalls& left, const Library& by_library) {
        if (left.point == nullptr) return {};
        const Learner::Needs needs = Learner::needs_of(*left.point, left.arm, left.shape);
        if (needs == Learner::Needs::search) return {};
        const std::int64_t began = needs == Learner::Needs::time ? now_ns() : 0;
        const int code = by_library();
        if (needs == Learner::Needs::time)
            state_->learner->record(*left.point, left.shape, ns_since(began), 0);
        return code;
    }
    void keep(const ProgramCall& call, std::int64_t bytes, LeftCalls& left,
              const RepeatableRun& run = {}) {
        if (!call.has_named_types() || !known_calls_.note(call)) return;
        KnownCall known{call, &left, left.key, run};
        if (run.place != nullptr) known.elements = run.place->elements;
        known.elements.bytes = bytes;
        known.bytes_of_element = bytes / std::max<std::int64_t>(call.elements(), 1);
        known.admission = admission_key(call.kind, bytes, call.root);
        known_calls_.keep(known);
    }
    // Makes progress on the program's MPI messages about every 100 us, as ranks that never wait
    // long would never do so. A call of a few bytes is 1 unit of work.
    void count_work(std::int64_t bytes_of_block) {
        constexpr std::int64_t work_without = 256;
        constexpr std::size_t bytes_of_work = 2048;
        work_ += 1 + static_cast<std::int64_t>(as_size(bytes_of_block) / bytes_of_work);
        if (work_ < work_without) return;
        work_ = 0;
        progress_.make_progress();
    }
    bool maximize(std::span<std::int64_t> values);
    bool is_admitted(std::uint64_t key, std::int64_t bytes);
    void leave_to_library();
    void give_back();
    std::int64_t agree_on_lengths();

    bool has_begun() {
        if (stage_ == Stage::new_ones) begin();
        return stage_ == Stage::ours;
    }
    bool agree_on_first_calls(std::int64_t calls, int times);
    void begin();

    template <class What>
    int guarded(const What& what) {
        try {
            what();
            give_back_scratch();
            return MPI_SUCCESS;
        } catch (const std::exception& error) {
            problem_ = error.what();
        }
        return report();
    }
    // Passes the error to the program's error handler. After an error that breaks tutti's state,
    // the MPI library does all later calls. All ranks see mismatched calls; an error on one rank
    // alone leaves the others waiting. The handler may leave by longjmp, so nothing may need
    // cleanup here.
    int report();
    void give_back_scratch();

    MPI_Comm comm_;
    int rank_ = 0, size_ = 1;
    Stage stage_ = Stage::new_ones;
    std::int64_t first_calls_;  // calls of each kind that the MPI library does first
    bool has_agreed_ = false;   // whether the ranks have agreed on first_calls_
    // Set by begin():
    bool may_meet_ = false, never_meet_ = false, leaves_barriers_ = false;
    std::int64_t began_ns_ = 0, beginning_ns_ = 0;
    std::array<std::int64_t, call_kinds> calls_ = {};
    std::array<Refusals, call_kinds> refusals_ = {};
    std::unique_ptr<World> world_;
    ProgressOfMpi progress_;
    std::unique_ptr<Communicator::State> state_;
    std::unique_ptr<TurnsOfCalls> turns_;
    PlanAdmission admission_;
    std::uint64_t known_evictions_ = 0;
    AllLeftCalls left_calls_;
    KnownCalls known_calls_;
    bool uses_scratch_ = false;  // whether the current call does
    bool is_known_ = false;      // whether it is known, but repeat() could not do it
    std::int64_t work_ = 0;
    std::string problem_;
    struct Memory {
        std::unique_ptr<std::byte[]> bytes;
        std::size_t size = 0;
    };
    std::array<Memory, 2> scratch_;
    BlockExchange exchange_;
    std::vector<std::int64_t> counts_;
    BlockLengths lengths_;
};

/// The kinds of calls that tutti may do, a bit for each. 0 before MPI has started and after its
/// end.
extern std::atomic<std::uint32_t> kinds_taken;

/// A recent look-up of a communicator by this thread. The handle of a freed one may be reused.
struct KnownRanks {
    MPI_Comm comm{};
    std::uint64_t epoch = 0;  ///< value of communicators_freed; 0: empty
    Ranks* ranks = nullptr;
};
/// A two-way set of the cache. The older entry is replaced.
using KnownPair = std::array<KnownRanks, 2>;
[[gnu::tls_model("initial-exec")]] extern constinit thread_local std::array<KnownPair, 32>
    known_ranks;
inline KnownPair& known_pair_of(MPI_Comm comm) {
    std::uint64_t bits = 0;
    static_assert(sizeof comm <= sizeof bits);
    __builtin_memcpy(&bits, &comm, sizeof comm);
    return known_ranks[bits * 0x9E3779B97F4A7C15U >> 59];
}
/// Grows whenever a communicator is freed.
extern std::atomic<std::uint64_t> communicators_freed;

Ranks* look_up_ranks(MPI_Comm comm);

/// Returns null if the MPI library does such calls: the communicator has one rank, connects two
/// groups or has ranks of other jobs.
inline Ranks* ranks_for(CallKind kind, MPI_Comm comm) {
    if ((kinds_taken.load(std::memory_order_relaxed) >> static_cast<int>(kind) & 1U) == 0)
        return nullptr;
    const std::uint64_t epoch = communicators_freed.load(std::memory_order_acquire);
    for (const KnownRanks& known : known_pair_of(comm))
        if (known.comm == comm && known.epoch == epoch) return known.ranks;
    return look_up_ranks(comm);
}

/// Lives while the program's MPI_Comm_free or MPI_Comm_disconnect runs. Meanwhile all calls on that
/// communicator go to the MPI library, also those from attribute delete functions.
class FreedCommunicator {
public:
    explicit FreedCommunicator(MPI_Comm comm);
    ~FreedCommunicator();
    FreedCommunicator(const FreedCommunicator&) = delete;
    FreedCommunicator& operator=(const FreedCommunicator&) = delete;
};

/// Returns whether the MPI library accepts GPU buffers and the program uses a GPU. Then buffers of
/// a call may be on a GPU on some ranks only.
bool takes_memory_of_gpus();

/// Prepares for calls, after MPI has started.
void begin_taking_calls();
/// Ends all communicators of tutti, before MPI ends.
void end_taking_calls();

/// Makes tutti call the MPI library directly, because MPI_X would resolve to this library.
void use_library_functions();

/// Reads the environment after MPI has started, and begins to take calls. If that is not possible,
/// prints the reason in one line.
void mpi_has_started();
/// Prints the report and ends everything of tutti that uses MPI, before MPI ends.
void mpi_is_about_to_end();

}  // namespace tutti
