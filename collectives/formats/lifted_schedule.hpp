// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <vector>

#include "base/source.hpp"
#include "collectives/formats/placed_moves.hpp"

namespace tutti {

/// Chunks in the memory of a rank.
struct ReadMemory {
    Rank rank;
    FilePlace place;
    int count = 1;
};

/// A counter that orders the operations of thread blocks: its kind and its numbers.
using ReadCounter = std::array<int, 4>;
constexpr int signal_counter = 0, semaphore_counter = 1, message_counter = 2;
constexpr int dependence_counter = 3;  ///< the only kind that a wait does not use up

/// An operation in a file. It copies one source to all targets, or source i to target i. If it
/// `reduces`, it writes the sum of all sources to each target. All have the same count.
struct ReadOperation {
    int line = 0;
    bool reduces = false;
    bool awaits_scratch = false;  ///< packets in scratch say that they have arrived
    std::vector<ReadMemory> sources = {}, targets = {};
    std::vector<ReadCounter> waits = {}, signals = {};
};

/// A thread block, which executes its operations in order.
struct ReadBlock {
    Rank rank;
    std::vector<ReadOperation> operations = {};
};

/// Executes the operations symbolically, and returns the transfers between ranks that they amount
/// to. Throws Error through `source`; with Exit::wrong_result if the program cannot deliver.
Schedule lifted_schedule(const std::vector<ReadBlock>& blocks, int chunks,
                         const CollectiveSpec& spec, Aliasing aliasing, const Source& source);

/// Returns a schedule of these transfers, which are kept in memory.
Schedule schedule_of_steps(int ranks, int chunks, std::vector<std::vector<Transfer>> steps);

}  // namespace tutti
