// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "base/rounding.hpp"
#include "collectives/execute/direct/direct_program.hpp"
#include "collectives/world/signal.hpp"

namespace tutti {

/// A peer that reads a place in a step; until it has finished that step, the place must not be
/// written.
struct Reader {
    Place place;
    Rank peer;
    int step;
};

/// Identifies a move by the indices of its step and of itself: pointers would dangle while lists
/// grow.
inline constexpr std::size_t prologue = SIZE_MAX;
struct MoveIndex {
    std::size_t step, move;
};

/// The place of a chunk's value, its possible places, and its readers.
struct Chunk {
    Place destination;               // where it ends (or stays while in transit)
    Place current;                   // where its value is now
    std::optional<Place> readable;   // a copy for peers, if they cannot read the current place
    std::optional<Place> alternate;  // a second place, for steps in which peers read the first
    std::vector<Reader> readers;
    int read_in_step = -1;             // at its current place
    int last_use_of_destination = -1;  // last use by this rank
    bool is_input = true;
    bool is_in_transit = false;      // not part of any result of this rank
    std::optional<int> computed_in;  // the step; empty if only copied
    std::optional<MoveIndex> written_by = {};
};

/// Allocates the plan's own shared memory, in pieces on separate cache lines. Slots of one size are
/// reused, so that few are needed and these stay in the cache.
class PlanMemory {
public:
    explicit PlanMemory(std::size_t slot_bytes) : slot_bytes_(slot_bytes) {}

    std::size_t bytes() const { return bytes_; }

    Place take(std::size_t bytes) {
        const Place place{Place::In::plan, bytes_};
        bytes_ += round_up(bytes, cache_line);
        return place;
    }

    /// Returns a slot that `step` may write once the dependencies added here are met: the readers
    /// of its earlier content have finished.
    Place take_slot(int step, std::vector<Dependency>& dependencies) {
        if (free_.empty() || free_.front().last_use + steps_between_uses > step)
            return take(slot_bytes_);
        const Slot slot = std::move(free_.front());
        free_.pop_front();
        for (const Reader& reader : slot.readers)
            dependencies.push_back({reader.peer, reader.step + 1});
        return slot.place;
    }

    /// Frees a slot, and removes its readers from `readers`.
    void free_slot(Place place, std::vector<Reader>& readers, int last_use) {
        Slot slot{place, {}, last_use};
        std::erase_if(readers, [&](const Reader& reader) {
            if (reader.place != place) return false;
            slot.readers.push_back(reader);
            slot.last_use = std::max(slot.last_use, reader.step);
            return true;
        });
        free_.push_back(std::move(slot));
    }

private:
    // Slots are reused only some steps later, so that no rank waits for a reader that is slightly
    // late.
    static constexpr int steps_between_uses = 3;

    struct Slot {
        Place place;
        std::vector<Reader> readers;
        int last_use;
    };

    std::size_t slot_bytes_;
    std::size_t bytes_ = 0;
    std::deque<Slot> free_;  // longest unused first
};

}  // namespace tutti
