// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/index.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// A run of neighbouring chunks of the message. It may be empty (count 0).
struct Chunks {
    int first = 0;
    int count = 1;
    auto operator<=>(const Chunks&) const = default;
};

/// Returns the chunk that belongs to rank r, where the message has one chunk per rank.
constexpr Chunks chunk_of(Rank r) { return {r.index, 1}; }

/// The only chunk of a message that is not cut.
inline constexpr Chunks whole_message{0, 1};

/// How a receiver uses arriving data: it overwrites its own (copy) or combines both (reduce).
enum class Action : std::uint8_t { copy, reduce };

/// One message: `to` overwrites its chunks (copy) or combines the arriving ones in (reduce).
/// The data is what `from` held when it entered the step. `from` may equal `to`: a rank's own
/// chunk then takes this place in the order of addition.
struct Transfer {
    Chunks chunks;
    Rank from;
    Rank to;
    Action action = Action::copy;
    auto operator<=>(const Transfer&) const = default;
};

/// Takes the transfers of one step from an algorithm, in order. Stores nothing: each transfer goes
/// to the listener at once, so a step of millions of transfers costs no memory. Transfers that
/// arrive at the same chunk of the same rank are applied in the order in which they were added.
class Step {
public:
    using Listener = void (*)(void* context, const Transfer&);

    /// With `only`, the listener gets just the transfers from or to that rank.
    Step(Listener listener, void* context, std::optional<Rank> only)
        : listener_(listener), context_(context), only_(only.value_or(Rank{-1})) {}

    void copy(Transfer transfer) {
        transfer.action = Action::copy;
        add(transfer);
    }

    void reduce(Transfer transfer) {
        transfer.action = Action::reduce;
        add(transfer);
    }

    void add(const Transfer& transfer) {
        if (transfer.chunks.count != 0 && concerns(transfer.from, transfer.to))
            listener_(context_, transfer);
    }

    /// False if transfers between these ranks are ignored: while one rank's plan is built, an
    /// algorithm may then skip a long inner loop. Never needed for correctness.
    bool concerns(Rank from, Rank to) const {
        return only_.index < 0 || from == only_ || to == only_;
    }

    std::optional<Rank> only() const {
        return only_.index < 0 ? std::nullopt : std::optional<Rank>(only_);
    }

private:
    Listener listener_;
    void* context_;
    Rank only_;
};

/// The size of a schedule: everything but its transfers.
struct Extent {
    int ranks = 1;
    int chunks = 1;  ///< number of equal chunks of the message
    int steps = 0;
};

/// A whole collective, seen from outside: for each step, which rank sends which chunks to which.
///
/// It is a function from step number to transfers; nothing is stored, so a schedule over thousands
/// of ranks takes a few bytes. A step is an order *per rank*, not a barrier: a rank continues when
/// its own transfers of the step are done.
class Schedule {
public:
    using Writer = std::function<void(int step, Step& out)>;

    /// Throws Error unless there are at least 1 rank, 1 chunk and 0 steps.
    Schedule(Extent extent, Writer writer);

    int ranks() const { return extent_.ranks; }
    int chunks() const { return extent_.chunks; }
    int steps() const { return extent_.steps; }

    /// Calls listener(const Transfer&) for each transfer of one step, in order. With `only`,
    /// visits just the transfers from or to that rank. Throws Error if the schedule does not have
    /// this step, or does not have a rank or chunk that a visited transfer names.
    template <class Listener>
    void visit(int step, Listener&& listener, std::optional<Rank> only = std::nullopt) const {
        struct Visit {
            const Schedule& schedule;
            int step;
            std::remove_reference_t<Listener>& listener;
        } visit{*this, step, listener};
        Step out(
            [](void* context, const Transfer& t) {
                const Visit& now = *static_cast<const Visit*>(context);
                if (!now.schedule.contains(t)) now.schedule.refuse(now.step, t);
                now.listener(t);
            },
            &visit, only);
        write_step(step, out);
    }

    /// Adds the transfers of one step (0 .. steps()-1) to `out`.
    void write_step(int step, Step& out) const;

    /// Returns this schedule followed by `next`. Cuts chunks finer if the two cut the message
    /// differently.
    Schedule then(const Schedule& next) const;

    /// Returns the same transfers with each chunk cut into `parts`.
    Schedule finer(int parts) const;

private:
    struct Phase {
        int steps;
        int parts;  ///< chunks of the schedule per chunk of the writer
        Writer writer;
    };

    bool contains(const Transfer& t) const {
        const auto below = [](int index, int end) {  // false for negative numbers, too
            return static_cast<unsigned>(index) < static_cast<unsigned>(end);
        };
        return below(t.from.index, ranks()) && below(t.to.index, ranks()) &&
               below(t.chunks.first, chunks()) && t.chunks.count > 0 &&
               t.chunks.count <= chunks() - t.chunks.first;
    }
    [[noreturn]] void refuse(int step, const Transfer& transfer) const;

    Extent extent_;
    std::vector<Phase> phases_;
};

/// Ranks 0 .. ranks-1, for range-based loops.
class AllRanks {
public:
    class Iterator {
    public:
        explicit Iterator(int index) : rank_{index} {}
        Rank operator*() const { return rank_; }
        Iterator& operator++() {
            ++rank_.index;
            return *this;
        }
        bool operator!=(const Iterator& other) const { return rank_ != other.rank_; }

    private:
        Rank rank_;
    };

    explicit AllRanks(int ranks) : ranks_(ranks) {}
    Iterator begin() const { return Iterator(0); }
    Iterator end() const { return Iterator(ranks_); }

private:
    int ranks_;
};

inline AllRanks all_ranks(int ranks) { return AllRanks(ranks); }

/// Ranks in a circle: the only place that knows modular arithmetic.
class Ring {
public:
    explicit Ring(int ranks) : ranks_(ranks) {}

    /// `places` may be negative, or larger than the ring.
    Rank ahead(Rank r, int places) const {
        const int place = (r.index + places) % ranks_;
        return {place < 0 ? place + ranks_ : place};
    }
    Rank behind(Rank r, int places) const { return ahead(r, -places); }
    Rank next(Rank r) const { return ahead(r, 1); }

    /// Returns the chunks of `count` neighbours from `first` on, where rank r owns chunk r: one run
    /// of chunks, or two where the circle closes. Empty runs have count 0.
    std::array<Chunks, 2> arc(Rank first, int count) const {
        const int before_wrap = count < ranks_ - first.index ? count : ranks_ - first.index;
        return {Chunks{first.index, before_wrap}, Chunks{0, count - before_wrap}};
    }

private:
    int ranks_;
};

}  // namespace tutti
#pragma GCC visibility pop
