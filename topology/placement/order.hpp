// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// Where a rank runs. Numbers mean something only where those before them are equal; a rank that
/// may run in several places of a kind, or in none that is known, has -1 there.
struct RankBinding {
    int host = 0;
    int package = -1;
    int numa_node = -1;
    int cache = -1;  ///< the last-level cache
    int core = -1;
    std::optional<int> gpu = {};
    bool operator==(const RankBinding&) const = default;
};

/// The binding of a rank that may run on these CPUs (the operating system's numbers) of a host. The
/// numbers are positions in the host's lists; RankBinding::host is left to the caller.
RankBinding binding_of(const Host& host, const std::vector<int>& cpus);

/// In which order algorithms take the ranks: who is whose neighbour in a ring, who is near whom in
/// a tree. Each channel is a permutation of all ranks and carries an equal share of the message, at
/// the same time as the others. No channel: one, in the order in which the launcher gave the ranks.
struct Order {
    std::vector<std::vector<Rank>> channels;
    bool operator==(const Order&) const = default;
};

/// One channel that goes through the machine as a walk would: host by host (in the order of their
/// first rank), there package by package, and so on down to cores, so that each boundary is crossed
/// as seldom as possible. Ranks that share all places stay in rank order.
Order order_by_topology(std::span<const RankBinding> binding_of_rank);

/// More shares than that are too small for anything but bookkeeping.
inline constexpr int most_channels = 64;

/// The order with `count` channels for each that it has (none: the launcher's, as one). The first
/// is as it was; the second is its reverse, so that rings use both directions of every link and
/// trees other inner nodes; the third begins half way round, so that what gathers at the first rank
/// gathers there; the fourth is the reverse of that; the next two begin a quarter of the way round,
/// and so on. One of nothing stays nothing. Throws Error if count is not 1 .. most_channels.
Order channels_of(const Order& order, int count, int ranks);

/// Reads one channel per line: ranks separated by blanks; '#' begins a comment. Throws Error with
/// file and line where a line is no permutation of the `ranks` ranks, or if there is no line.
Order read_order(const std::string& path, int ranks);

}  // namespace tutti
