// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/world/world.hpp"

namespace tutti {

/// Measures how much of the ranks' cores other programs and other guests of the hardware use during
/// a measurement. Disturbed measurements say less about the machine.
class CoreWatch {
public:
    /// Starts to watch the cores that the ranks may run on now. Collective.
    explicit CoreWatch(World& world);

    /// Returns the share of the cores' time used by others so far, on the host where it is largest.
    /// 0 if the system does not report it. Collective; the same on all ranks.
    double share_of_others();

private:
    /// On this host: the work of its cores, and of these ranks.
    struct Worked {
        std::optional<std::int64_t> all_ns;
        std::int64_t ours_ns = 0;
    };
    Worked worked() const;

    World& world_;
    std::vector<int> cpus_;  // CPUs of this host's ranks, all threads of each core
    std::size_t cores_ = 0;
    std::int64_t began_ns_;
    Worked before_;
};

}  // namespace tutti
