// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/units.hpp"

namespace tutti {

/// How a collective is done: what the tuner chooses among and a table holds. Names, as a table may
/// come from another build.
struct Configuration {
    std::string impl = "tutti";  ///< or a baseline's name
    std::string algorithm;       ///< of ours, or forced on the library; empty: the library chooses
    std::string transport;       ///< of ours; empty for a baseline
    Bytes segment;               ///< of pipelined algorithms; 0 for others
    int radix = 0;               ///< of algorithms that have one; 0: for others, or their usual one
    int channels = 1;            ///< equal shares of the message that travel at the same time

    bool is_ours() const { return impl == "tutti"; }
    auto operator<=>(const Configuration&) const = default;
};

/// "ring/shm", with what is not usual in brackets: "chain[64K,x2]/mpi", "tree[k4]/shm"; "mpi",
/// "mpi/ring" for a library's.
std::string to_string(const Configuration& configuration);

}  // namespace tutti
