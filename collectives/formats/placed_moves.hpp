// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "base/name_table.hpp"
#include "collectives/schedule/collective_spec.hpp"
#include "collectives/schedule/schedule.hpp"

namespace tutti {

/// The buffers of a rank in files of other libraries. The letters are those of MSCCL.
enum class FileBuffer : char { input = 'i', output = 'o', scratch = 's' };

/// A chunk of a buffer.
struct FilePlace {
    FileBuffer buffer = FileBuffer::scratch;
    int index = 0;
    auto operator<=>(const FilePlace&) const = default;
    FilePlace next(int chunks) const { return {buffer, index + chunks}; }
};

/// Whether a rank's input and output are the same memory.
enum class Aliasing { none, in_place };

template <>
struct NamesOf<Aliasing> {
    static constexpr const char* kind = "--inplace";
    static constexpr Named<Aliasing> rows[] = {{Aliasing::none, "no"}, {Aliasing::in_place, "yes"}};
};

/// The places of a message's chunks in the buffers of ranks.
class FilePlaces {
public:
    /// Throws Error if the collective cannot be in place.
    FilePlaces(int chunks, const CollectiveSpec& spec, Aliasing in_place);

    FilePlace of_input(Rank rank, int chunk) const;
    FilePlace of_output(Rank rank, int chunk) const;
    /// Returns the same name for all names of one piece of memory.
    FilePlace memory_of(Rank rank, FilePlace place) const;
    /// Returns the chunks of a buffer that a rank passes to the collective (0: it has none).
    int input_chunks(Rank rank) const;
    int output_chunks(Rank rank) const;
    /// Whether the rank starts with the chunk, or must end with it.
    bool starts_with(Rank rank, int chunk) const;
    bool ends_with(Rank rank, int chunk) const;

private:
    CollectiveSpec spec_;
    int per_block_;
    Aliasing in_place_;
};

/// A transfer with the places of its chunks. A reduction computes target = operand + source; a copy
/// has no operand. All sources hold what they held when the step began.
struct PlacedMove {
    int step = 0;
    Rank from, to;
    Action action = Action::copy;
    FilePlace source;           ///< of `from`
    FilePlace operand, target;  ///< of `to`
    int count = 1;              ///< chunks
    int chunk = 0;              ///< the first of them in the message
};

/// How a target differs from the sources that ranks read in the same step.
enum class Targets {
    apart,        ///< it is other memory, so readers and the writer need no order
    after_reads,  ///< it may be the same memory; such a move has one chunk
};

struct MoveRules {
    Targets targets = Targets::after_reads;
    int most_chunks = 1 << 30;  ///< in one move
};

/// A schedule for the buffers of a file, with what ranks copy within their own memory.
struct PlacedMoves {
    std::vector<PlacedMove> moves;    ///< by step; the last step only copies results to the output
    std::vector<int> scratch_chunks;  ///< of each rank
};

/// Assigns places to all chunks. Inputs are never written, except in place. Throws Error if a rank
/// reduces into a chunk that it does not have.
PlacedMoves place_moves(const Schedule& schedule, const FilePlaces& places, const MoveRules& rules);

}  // namespace tutti
