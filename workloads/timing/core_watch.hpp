// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/world/world.hpp"

namespace tutti {

/// How much of their cores others have while some ranks measure: other programs, and other guests
/// of the hardware. What is measured meanwhile says less of the machine.
class CoreWatch {
public:
    /// Watches, from now on, the cores that the ranks may run on now. Collective.
    explicit CoreWatch(World& world);

    /// The share of the cores' time that others have had so far, on the host where it is largest.
    /// 0 where the system does not say. Collective; the same on all ranks.
    double share_of_others();

private:
    /// Of this host: what its cores have worked, and these ranks of it.
    struct Worked {
        std::optional<std::int64_t> all_ns;
        std::int64_t ours_ns = 0;
    };
    Worked worked() const;

    World& world_;
    std::vector<int> cpus_;  // of this host's ranks, all threads of each core
    std::size_t cores_ = 0;
    std::int64_t began_ns_;
    Worked before_;
};

}  // namespace tutti
