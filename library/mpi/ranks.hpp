// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "kernels/sets.hpp"
#include "library/communicator_state.hpp"
#include "library/mpi/block_sizes.hpp"
#include "library/mpi/turns.hpp"

namespace tutti {

/// What the environment has asked for; set while MPI starts, before any call is taken over.
extern PreloadSettings preloaded;

/// The ranks of one of the program's communicators: who does its calls, and with what. It lives as
/// an attribute of the communicator, so it ends when that is freed. All that it asks of the MPI
/// library are collectives on that communicator, within calls of the program there.
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
    /// Whether there are calls that tutti may do.
    bool may_take() const { return stage_ != Stage::the_librarys; }

    /// Does the call by whoever's turn it is: `by_library` returns MPI's code, `by_tutti` throws.
    /// All ranks give the same kind, bytes and root, and that decides. `asking_ns` is what tutti
    /// has spent on the call already.
    template <class Library, class Tutti>
    int take_turn(CallKind kind, std::int64_t bytes, int root, const Library& by_library,
                  const Tutti& by_tutti, double asking_ns = 0) {
        if (is_too_early(kind)) return passed(kind, bytes, by_library);
        if (is_rare(kind, bytes, root)) return passed_as_rare(kind, bytes, by_library);
        if (!has_begun()) return passed(kind, bytes, by_library);
        if (!turns_) return guarded(by_tutti);
        ClassTurns& turns = turns_->of(size_class(kind, bytes));
        const ClassTurns::Turn turn = turns.next(preloaded);
        const std::int64_t began = turn.is_timed ? now_ns() : 0;
        const int code = turn.by == By::library ? by_library() : guarded(by_tutti);
        if (turn.is_timed)
            turns.took(
                static_cast<double>(now_ns() - began) + (turn.by == By::tutti ? asking_ns : 0),
                turn);
        return code;
    }

    /// The same of a call whose blocks no rank knows all of. `known` is what this rank knows; where
    /// there is a root, what that knows, and `own` is the block of another rank. `by_tutti` is
    /// given the bytes of a slot that holds any of the blocks. Where a rank's own block does not
    /// fit, the library does the call, and reports that. What is passed on counts as of no bytes,
    /// as ranks know different sizes.
    template <class Library, class Tutti>
    int take_agreed_turn(CallKind kind, const BlockSizes& known, std::int64_t own, int root,
                         const Library& by_library, const Tutti& by_tutti) {
        Refusals& refusals = at(refusals_, kind);
        if (!may_meet(kind) || (!preloaded.always && refusals.skip_one()))
            return passed(kind, 0, by_library);
        const std::int64_t began = turns_ ? now_ns() : 0;
        std::optional<std::size_t> slot;
        const int code = guarded([&] {
            const auto [all, most_own] = agree(known, own);
            if (preloaded.always || pays_once_agreed(all)) slot = slot_for(all, size_);
            if (slot && most_own > static_cast<std::int64_t>(*slot)) slot.reset();
        });
        if (code != MPI_SUCCESS) return code;
        if (!slot) {
            refusals.add();
            return passed(kind, 0, by_library);
        }
        refusals = {};
        return take_turn(
            kind, static_cast<std::int64_t>(*slot), root, by_library, [&] { by_tutti(*slot); },
            turns_ ? static_cast<double>(now_ns() - began) : 0);
    }

    /// Of a call in which tutti makes ranks wait for each other though the library would not:
    /// whether that pays, as it does where each has a core of its own. If not, the call is to be
    /// passed().
    bool may_meet(CallKind kind) {
        // Whether it pays is known once tutti has begun, which itself takes many calls' time.
        const int times = stage_ == Stage::new_ones ? 8 : 1;
        return !is_too_early(kind, times) && has_begun() &&
               (preloaded.always || !world_->oversubscribed);
    }
    /// A call that is the library's, whoever's turn it is.
    template <class Library>
    int passed(CallKind kind, std::int64_t bytes, const Library& by_library) {
        if (turns_) turns_->of(size_class(kind, bytes)).count_passed();
        return by_library();
    }
    /// The same, as calls of this length come too rarely for a plan.
    template <class Library>
    int passed_as_rare(CallKind kind, std::int64_t bytes, const Library& by_library) {
        if (turns_) turns_->of(size_class(kind, bytes)).count_rare();
        return by_library();
    }

    /// Of blocking collectives alone, so that the ranks need not meet at the end.
    void run(const CallArguments& arguments) {
        // Ranks that never wait for each other for long would never move the library's messages.
        constexpr int calls_without = 32;
        if (++runs_ % calls_without == 0) progress_.make_progress();
        state_->run(arguments);
    }

    /// Memory of so many bytes for the length of one call.
    enum class Scratch : std::uint8_t { input, output };
    std::span<std::byte> scratch(Scratch which, std::size_t bytes);

    /// Combines the first so many of the call's vectors, which lie in a row, into `out`, one after
    /// the other.
    void combine(const Call& call, std::span<const std::byte> vectors, int how_many,
                 std::byte* out);

    /// Ends what tutti has here; from now on the library does all calls.
    void leave();

private:
    // Messages of the program's own, which a peer may be waiting for before it comes.
    struct ProgressOfMpi final : Progressable {
        void make_progress() override;
    };
    enum class Stage : std::uint8_t { new_ones, ours, the_librarys };
    // Of calls that are the library's in the end, ever fewer are asked about.
    class Refusals {
    public:
        bool skip_one() {
            if (left_ == 0) return false;
            --left_;
            return true;
        }
        void add() { left_ = last_ = std::min(2 * last_ + 1, 63); }

    private:
        int last_ = 0, left_ = 0;
    };

    bool is_too_early(CallKind kind, int times = 1) {
        std::int64_t& calls = at(calls_, kind);
        if (calls >= first_calls_ * times && may_take() && is_patient_enough(calls)) return false;
        ++calls;
        return true;
    }
    /// Whether such calls come too rarely for a plan; the same answer on all ranks.
    bool is_rare(CallKind kind, std::int64_t bytes, int root) {
        if (preloaded.always || preloaded.turn_calls > 0) return false;
        const auto key = static_cast<std::uint64_t>(bytes) << 20 ^
                         static_cast<std::uint64_t>(root) << 4 ^ static_cast<std::uint64_t>(kind);
        return !is_admitted(key, bytes * size_);
    }
    bool is_admitted(std::uint64_t key, std::int64_t bytes);
    struct Agreed {
        BlockSizes all;
        std::int64_t most_own;
    };
    Agreed agree(const BlockSizes& known, std::int64_t own);

    bool has_begun() {
        if (stage_ == Stage::new_ones) begin();
        return stage_ == Stage::ours;
    }
    bool is_patient_enough(std::int64_t calls) { return has_agreed_ || agree_on_patience(calls); }
    bool agree_on_patience(std::int64_t calls);
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
    // If tutti cannot go on with these ranks, the library does. That their calls differ all of them
    // see; an error that only one sees leaves the others waiting, whoever goes on. The program's
    // error handler may leave this function by longjmp: nothing is left to be undone then.
    int report();
    void give_back_scratch();

    MPI_Comm comm_;
    int rank_ = 0, size_ = 1;
    Stage stage_ = Stage::new_ones;
    std::int64_t first_calls_;  // of a kind, which the library does
    bool has_agreed_ = false;   // how many these are
    std::int64_t began_ns_ = 0, beginning_ns_ = 0;
    std::array<std::int64_t, call_kinds> calls_ = {};
    std::array<Refusals, call_kinds> refusals_ = {};
    std::unique_ptr<World> world_;
    ProgressOfMpi progress_;
    std::unique_ptr<Communicator::State> state_;
    std::unique_ptr<Turns> turns_;
    PlanAdmission admission_{/*free_plans=*/0};
    unsigned runs_ = 0;
    std::string problem_;
    struct Memory {
        std::unique_ptr<std::byte[]> bytes;
        std::size_t size = 0;
    };
    std::array<Memory, 2> scratch_;
    struct Combiner {
        DataType type = DataType::int32;
        Op op = Op::sum;
        ReduceKernel kernel = nullptr;
        std::vector<const std::byte*> vectors = {};
    } combiner_;  // of the last scan
};

/// Which kinds of calls are looked at, a bit for each. None before MPI has started and after its
/// end.
extern std::atomic<std::uint32_t> kinds_taken;

/// A communicator that this thread has looked up lately; a freed one's handle may come again.
struct KnownRanks {
    MPI_Comm comm{};
    std::uint64_t epoch = 0;  ///< 0: none
    Ranks* ranks = nullptr;
};
/// Each is in one of two places; what was there longer gives way.
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

/// Null where the library does such calls: of one rank, between two groups, with ranks of other
/// jobs.
inline Ranks* ranks_for(CallKind kind, MPI_Comm comm) {
    if ((kinds_taken.load(std::memory_order_relaxed) >> static_cast<int>(kind) & 1U) == 0)
        return nullptr;
    const std::uint64_t epoch = communicators_freed.load(std::memory_order_acquire);
    for (const KnownRanks& known : known_pair_of(comm))
        if (known.comm == comm && known.epoch == epoch) return known.ranks;
    return look_up_ranks(comm);
}

/// From its construction to its end the program frees a communicator: all calls there are the
/// library's, also those of functions that MPI calls when it deletes attributes.
class FreedCommunicator {
public:
    explicit FreedCommunicator(MPI_Comm comm);
    ~FreedCommunicator();
    FreedCommunicator(const FreedCommunicator&) = delete;
    FreedCommunicator& operator=(const FreedCommunicator&) = delete;
};

/// Whether the MPI library takes buffers on GPUs, in a program that has them. Then those of some
/// calls may be there, which one rank alone would know.
bool takes_memory_of_gpus();

/// Prepares for calls: to be called once MPI has started.
void begin_taking_calls();
/// Ends all communicators of tutti: to be called before MPI ends.
void end_taking_calls();

}  // namespace tutti
