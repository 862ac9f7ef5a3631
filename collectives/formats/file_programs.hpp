// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "collectives/formats/placed_moves.hpp"

namespace tutti {

/// Kinds of operations in formats of sends and receives.
enum class FileAction { send, receive, receive_reduce, copy, reduce };

/// One operation of a rank. A reduction adds to its target.
struct FileOperation {
    FileAction action = FileAction::copy;
    Rank peer;                 ///< of a send or receive
    int message = 0;           ///< its number, which is different for each message of the file
    FilePlace source, target;  ///< a send has only a source, a receive only a target
    int chunk = 0, count = 1;  ///< chunks of the message
    std::vector<int> sources_of = {};  ///< operations that wrote what this one reads
    std::vector<int> after = {};       ///< these, and those that must be over before it writes
};

/// Returns the operations of each rank, in an order that respects their dependences.
std::vector<std::vector<FileOperation>> programs_of(const PlacedMoves& placed,
                                                    const FilePlaces& places, int ranks);

}  // namespace tutti
