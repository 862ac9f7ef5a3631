// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/execute/plan/layout.hpp"

namespace tutti {

/// One collective call with a known result. Every rank builds its input and checks its result from
/// these few numbers: no second run, no other library, no message. Results are exact in the
/// element's type whatever the order of additions, so they are compared bit for bit. Ranks hold
/// different data, so a share that is missing, counted twice or taken from another rank, place,
/// root or seed is detected. check_values.hpp says how, and what narrow types cannot show.
struct CheckCase {
    Collective collective = Collective::all_reduce;
    DataType type = DataType::float32;
    Op op = Op::sum;  // ignored where nothing is reduced
    int ranks = 1;
    int root = 0;  // part of the data even where no rank is special: let ranks agree on it
    std::int64_t count =
        0;  // elements as nccl-tests counts them: per rank, block or peer, or vector
    std::uint64_t seed = 0;  // a new one for each call shows results of the call before
    const BlockLengths* lengths = nullptr;  // if blocks differ, see Call
};

/// Returns the case of a call on this many ranks with the data of the seed.
inline CheckCase check_of(const Call& call, int ranks, std::uint64_t seed) {
    return {.collective = call.collective,
            .type = call.type,
            .op = call.op,
            .ranks = ranks,
            .root = call.root.index,
            .count = call.count,
            .seed = seed,
            .lengths = call.lengths};
}

// Elements in a rank's buffers; 0 where it has none (input of a broadcast's leaf, say).
std::int64_t input_count(const CheckCase& check, Rank rank);
std::int64_t result_count(const CheckCase& check, Rank rank);

// `input` has input_count() elements; its address need not be aligned to the type.
void fill_input(const CheckCase& check, Rank rank, std::span<std::byte> input);

// Fills with a pattern that no right result has, so that each element not written is counted.
void poison(std::span<std::byte> result);

// Elements whose bits differ from the right result. `result` has result_count() elements.
std::int64_t count_wrong(const CheckCase& check, Rank rank, std::span<const std::byte> result);

}  // namespace tutti
