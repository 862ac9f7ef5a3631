// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
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

/// From its construction to its end this thread is at work for tutti: what tutti itself asks of MPI
/// goes on to the library. At the start of a thread there is none.
class Inside {
public:
    Inside() { ++depth_; }
    ~Inside() { --depth_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    static bool is() { return depth_ > 0; }

private:
    [[gnu::tls_model("initial-exec")]] static thread_local int depth_;
};

/// The ranks of one of the program's communicators: who does its calls, and with what. It lives as
/// an attribute of the communicator, so it ends when that is freed.
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
    /// All ranks give the same kind and bytes, and that decides. `asking_ns` is what tutti has
    /// spent on the call already.
    template <class Library, class Tutti>
    int take_turn(CallKind kind, std::int64_t bytes, const Library& by_library,
                  const Tutti& by_tutti, double asking_ns = 0) {
        if (is_too_early(kind)) return passed(kind, bytes, by_library);
        if (!turns_) return guarded(by_tutti);
        ClassTurns& turns = turns_->of(size_class(kind, bytes));
        const ClassTurns::Turn turn = turns.next(preloaded);
        const std::int64_t began = turn.is_timed ? now_ns() : 0;
        const int code = turn.by == By::library ? within(by_library) : guarded(by_tutti);
        if (turn.is_timed)
            turns.took(
                static_cast<double>(now_ns() - began) + (turn.by == By::tutti ? asking_ns : 0),
                turn);
        return code;
    }

    /// The same of a call whose blocks no rank knows all of. `known` is what this rank knows; if
    /// there is a root, only what that knows counts. `by_tutti` is given the bytes of a slot that
    /// holds any of the blocks. What is passed on counts as of no bytes, as ranks know different
    /// sizes.
    template <class Library, class Tutti>
    int take_agreed_turn(CallKind kind, const BlockSizes& known, std::optional<int> root,
                         const Library& by_library, const Tutti& by_tutti) {
        Refusals& refusals = at(refusals_, kind);
        if (!may_meet(kind) || (!preloaded.always && refusals.skip_one()))
            return passed(kind, 0, by_library);
        const std::int64_t began = turns_ ? now_ns() : 0;
        std::optional<std::size_t> slot;
        const int code = guarded([&] {
            const BlockSizes all = agree(known, root);
            if (preloaded.always || pays_once_agreed(all)) slot = slot_for(all, size_);
        });
        if (code != MPI_SUCCESS) return code;
        if (!slot) {
            refusals.add();
            return passed(kind, 0, by_library);
        }
        refusals = {};
        return take_turn(
            kind, static_cast<std::int64_t>(*slot), by_library, [&] { by_tutti(*slot); },
            turns_ ? static_cast<double>(now_ns() - began) : 0);
    }

    /// Of a call in which tutti makes ranks wait for each other though the library would not:
    /// whether that pays, as it does where each has a core of its own. If not, the call is to be
    /// passed().
    bool may_meet(CallKind kind) {
        return !is_too_early(kind) && (preloaded.always || !world_->oversubscribed);
    }
    /// A call that is the library's, whoever's turn it is.
    template <class Library>
    int passed(CallKind kind, std::int64_t bytes, const Library& by_library) {
        if (turns_) turns_->of(size_class(kind, bytes)).count_passed();
        return within(by_library);
    }

    /// Of blocking collectives alone, so that the ranks need not meet at the end.
    void run(const CallArguments& arguments) {
        // Ranks that never wait for each other for long would never move the library's messages.
        constexpr int calls_without = 32;
        if (++runs_ % calls_without == 0) progress_->make_progress();
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
        explicit ProgressOfMpi(MPI_Comm messages) : comm(messages) {}
        void make_progress() override;
        MPI_Comm comm;
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

    bool is_too_early(CallKind kind) {
        std::int64_t& calls = at(calls_, kind);
        if (calls >= preloaded.after && has_begun()) return false;
        ++calls;
        return true;
    }
    BlockSizes agree(const BlockSizes& known, std::optional<int> root);

    bool has_begun() {
        if (stage_ == Stage::new_ones) begin();
        return stage_ == Stage::ours;
    }
    void begin();

    // A tool behind this library may call it by the other name: that is the same call.
    template <class Library>
    static int within(const Library& by_library) {
        const Inside inside;
        return by_library();
    }
    template <class What>
    int guarded(const What& what) {
        try {
            const Inside inside;
            what();
            give_back_scratch();
            return MPI_SUCCESS;
        } catch (const std::exception& error) {
            return report(error);
        }
    }
    // If tutti cannot go on with these ranks, the library does. That their calls differ all of them
    // see; an error that only one sees leaves the others waiting, whoever goes on.
    int report(const std::exception& error);
    void give_back_scratch();

    MPI_Comm comm_;
    int rank_ = 0, size_ = 1;
    Stage stage_ = Stage::new_ones;
    std::array<std::int64_t, call_kinds> calls_ = {};
    std::array<Refusals, call_kinds> refusals_ = {};
    std::unique_ptr<World> world_;
    std::optional<ProgressOfMpi> progress_;
    std::unique_ptr<Communicator::State> state_;
    std::unique_ptr<Turns> turns_;
    unsigned runs_ = 0;
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
    MPI_Comm comm = MPI_COMM_NULL;
    std::uint64_t epoch = 0;
    Ranks* ranks = nullptr;
};
/// Each is in one of two places; what was there longer gives way.
using KnownPair = std::array<KnownRanks, 2>;
[[gnu::tls_model("initial-exec")]] extern thread_local std::array<KnownPair, 32> known_ranks;
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
    if ((kinds_taken.load(std::memory_order_relaxed) >> static_cast<int>(kind) & 1U) == 0 ||
        Inside::is())
        return nullptr;
    const std::uint64_t epoch = communicators_freed.load(std::memory_order_acquire);
    for (const KnownRanks& known : known_pair_of(comm))
        if (known.comm == comm && known.epoch == epoch) return known.ranks;
    return look_up_ranks(comm);
}

/// Whether the MPI library takes buffers on GPUs, in a program that has them. Then those of some
/// calls may be there, which one rank alone would know.
bool takes_memory_of_gpus();

/// Prepares for calls: to be called once MPI has started.
void begin_taking_calls();
/// Ends all communicators of tutti: to be called before MPI ends.
void end_taking_calls();

}  // namespace tutti
