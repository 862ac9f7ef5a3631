// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

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

/// The site of a rank that may run on these CPUs (the operating system's numbers) of a host. The
/// numbers are positions in the host's lists; RankBinding::host is left to the caller.
RankBinding site_of(const Host& host, const std::vector<int>& cpus);

}  // namespace tutti
