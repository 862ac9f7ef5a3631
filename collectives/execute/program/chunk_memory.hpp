// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "collectives/execute/program/program.hpp"

namespace tutti {

/// A peer that reads a place in a step; until it has finished that step, the place must not be
/// written.
struct Reader {
    ChunkPlace place;
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
    ChunkPlace destination;               // where it ends (or stays while in transit)
    ChunkPlace current;                   // where its value is now
    std::optional<ChunkPlace> readable;   // a copy for peers, if they cannot read the current place
    std::optional<ChunkPlace> alternate;  // a second place, for steps in which peers read the first
    std::vector<Reader> readers;
    int read_in_step = -1;             // at its current place
    int last_use_of_destination = -1;  // last use by this rank
    bool is_input = true;
    bool is_in_transit = false;      // not part of any result of this rank
    std::optional<int> computed_in;  // the step; empty if only copied
    std::optional<MoveIndex> written_by = {};
};

/// Numbers the slots of the plan's own shared memory. Slots are reused, so that few are needed and
/// these stay in the cache.
class Slots {
public:
    int count() const { return count_; }

    ChunkPlace take() { return {ChunkPlace::In::slot, count_++}; }

    /// Returns a slot that `step` may write once the dependencies added here are met: the readers
    /// of its earlier content have finished.
    ChunkPlace take(int step, std::vector<Dependency>& dependencies) {
        if (free_.empty() || free_.front().last_use + steps_between_uses > step) return take();
        const Slot slot = std::move(free_.front());
        free_.pop_front();
        for (const Reader& reader : slot.readers)
            dependencies.push_back({reader.peer, reader.step + 1});
        return slot.place;
    }

    /// Frees a slot, and removes its readers from `readers`.
    void free(ChunkPlace place, std::vector<Reader>& readers, int last_use) {
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
        ChunkPlace place;
        std::vector<Reader> readers;
        int last_use;
    };

    int count_ = 0;
    std::deque<Slot> free_;  // longest unused first
};

}  // namespace tutti
