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

/// Records what this rank asks of the MPI library: its blocking collectives, and the messages
/// between two ranks. Calls are caught by MPI's profiling interface, and Open MPI's algorithms by
/// the names of their functions.
struct SeenByMpi {
    bool is_noting = false;
    int set_up = 0;  ///< MPI_Comm_c2f() of a communicator whose messages are not noted
    std::vector<SeenCall> collectives = {};
    std::vector<Memory> messages = {};
    std::vector<std::string> algorithms = {};  ///< some of Open MPI's algorithms that ran
};
extern SeenByMpi seen_by_mpi;

}  // namespace tutti::test
