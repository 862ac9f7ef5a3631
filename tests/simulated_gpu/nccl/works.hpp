// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nccl.h>

#include <optional>

#include "base/types.hpp"
#include "tests/simulated_gpu/nccl/group.hpp"

namespace tutti::simulated {

std::optional<DataType> type_of(ncclDataType_t type);
std::optional<Op> op_of(ncclRedOp_t op);

/// A rank's input to a collective.
struct Share {
    const std::byte* input;
    std::byte* output;
    std::size_t count;
    DataType type;
    int ranks, me;
    std::uint64_t sort;

    std::size_t bytes() const { return count * size_of(type); }
};

/// Each collective as messages between all ranks.
Work all_reduce(const Share& share, Op op);
Work reduce_scatter(const Share& share, Op op);  ///< count of a block
Work reduce(const Share& share, Op op, int root);
Work all_gather(const Share& share);  ///< count of a block
Work broadcast(const Share& share, int root);

}  // namespace tutti::simulated
