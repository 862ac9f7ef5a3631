// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "topology/machine/machine.hpp"
#include "topology/placement/placement.hpp"

namespace tutti {

/// The place where a rank runs. A number is relative to the members before it. It is -1 if the rank
/// may run in several such places, or the place is unknown.
struct RankBinding {
    int host = 0;
    int package = -1;
    int numa_node = -1;
    int cache = -1;  ///< the last-level cache
    int core = -1;
    std::optional<int> gpu = {};
    bool operator==(const RankBinding&) const = default;
};

/// Returns the binding of a rank that may run on these CPUs (the operating system's numbers), as
/// positions in the host's lists. The caller sets RankBinding::host.
RankBinding binding_of(const Host& host, const std::vector<int>& cpus);

/// Returns the caches, NUMA nodes, packages and hosts of ranks with these bindings. Ranks that may
/// run in several parts of a level form a group of their own there; a level where that is so for
/// all ranks is left out.
Placement placement_of(std::span<const RankBinding> binding_of_rank);

/// Returns the bindings of ranks that fill a machine: one on each GPU of a host, or on each core of
/// a host without GPUs. Throws Error for a host without either.
std::vector<RankBinding> bindings_that_fill(const Machine& machine);

/// The order of ranks in algorithms, such as the neighbours in a ring. Each channel is a
/// permutation of all ranks; channels carry equal shares of the message at the same time. Without
/// channels there is one, in the launcher's order.
struct Order {
    std::vector<std::vector<Rank>> channels;
    bool operator==(const Order&) const = default;
};

/// Returns one channel sorted by host (in the order of their first rank), package and so on down to
/// cores, so that each boundary is crossed as rarely as possible. Ranks with equal bindings keep
/// their order.
Order order_by_topology(std::span<const RankBinding> binding_of_rank);

/// Limit for channels: more shares would be so small that only overhead remains.
inline constexpr int most_channels = 64;

/// Returns the order with `count` channels for each channel (without channels, for the launcher's
/// order): the channel itself; its reverse, so that rings use both directions of links and trees
/// other inner nodes; then both rotated by 1/2, 1/4, 3/4, ... of the ranks, so that different ranks
/// are first. With count 1 nothing changes. Throws Error if count is not 1 .. most_channels.
Order channels_of(const Order& order, int count, int ranks);

/// Reads one channel per line: ranks separated by blanks; '#' begins a comment. Throws Error with
/// file and line if a line is not a permutation of all ranks, or if there is no line.
Order read_order(const std::string& path, int ranks);

}  // namespace tutti
