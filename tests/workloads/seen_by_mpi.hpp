// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstddef>
#include <string>
#include <vector>

namespace tutti::test {

/// A collective of the MPI library, by the buffers that it was given.
struct SeenCall {
    const void* send;
    const void* receive;
    auto operator<=>(const SeenCall&) const = default;
};

/// Memory that a message was sent from or received into.
struct Memory {
    const std::byte* begin;
    std::size_t bytes;
};

/// What this rank asked of the MPI library while noting: its blocking collectives, and the messages
/// between two ranks. The library's functions are caught on their way: by MPI's profiling
/// interface, and Open MPI's algorithms by the names of the functions that they are.
struct SeenByMpi {
    bool is_noting = false;
    std::vector<SeenCall> collectives = {};
    std::vector<Memory> messages = {};
    std::vector<std::string> algorithms = {};  ///< of Open MPI's, that ran, some of them
};
extern SeenByMpi seen_by_mpi;

}  // namespace tutti::test
