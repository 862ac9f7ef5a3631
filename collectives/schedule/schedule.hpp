// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "collectives/schedule/ring.hpp"
#include "collectives/schedule/step.hpp"
#include "collectives/schedule/transfer.hpp"

namespace tutti {

/// The extent of a schedule: everything but its transfers.
struct Extent {
    int ranks = 1;
    int chunks = 1;  ///< the message is cut into so many equal chunks
    int steps = 0;
};

/// A whole collective, written from above: for each step, who sends which chunks to whom.
///
/// It is a function from step number to transfers; nothing is stored, so a schedule over thousands
/// of ranks is a few bytes. A step is an order *per rank*, not a barrier: a rank moves on when its
/// own transfers of the step are done.
class Schedule {
public:
    using Writer = std::function<void(int step, Step& out)>;

    Schedule(Extent extent, Writer writer);

    int ranks() const { return extent_.ranks; }
    int chunks() const { return extent_.chunks; }
    int steps() const { return extent_.steps; }

    /// Calls listener(const Transfer&) for each transfer of one step, in order. With `only`, for
    /// those from or to that rank.
    template <class Listener>
    void visit(int step, Listener&& listener, std::optional<Rank> only = std::nullopt) const {
        using Plain = std::remove_reference_t<Listener>;
        Step out([](void* context, const Transfer& t) { (*static_cast<Plain*>(context))(t); },
                 const_cast<void*>(static_cast<const void*>(&listener)), only);
        say(step, out);
    }

    /// Says one step's transfers to `out`.
    void say(int step, Step& out) const;

    /// This, and after it `next`. Chunks are cut finer where the two cut the message differently.
    Schedule then(const Schedule& next) const;

    /// The same transfers with each chunk cut into `parts`.
    Schedule finer(int parts) const;

private:
    struct Phase {
        int steps;
        int parts;  ///< each chunk of the writer is so many chunks of the schedule
        Writer writer;
    };

    Extent extent_;
    std::vector<Phase> phases_;
};

/// Ranks 0 .. ranks-1, to be looped over.
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

}  // namespace tutti
