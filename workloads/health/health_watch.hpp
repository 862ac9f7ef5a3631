// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "collectives/world/world.hpp"
#include "results/records/health.hpp"
#include "topology/detect/nvml_library.hpp"
#include "topology/meters/host_counters.hpp"

namespace tutti {

/// One rank's observations about itself.
struct RankLook {
    int rank = 0;
    int cpu = 0;                   ///< on which it runs
    CpuClock clock;                ///< clock of that CPU; all 0: unknown
    std::int64_t preemptions = 0;  ///< how often it lost its core while it had work

    bool operator==(const RankLook&) const = default;
};

/// Observations on one host at one moment.
struct HostLook {
    std::int64_t at_ns = 0;
    std::vector<RankLook> ranks;  ///< on this host
    HostCounters counters;
    std::vector<GpuCondition> gpus;
};

/// Returns the conditions of a host at that moment.
HostHealth health_at(const HostLook& look);

/// Returns what happened between two looks at one host, and the conditions at the second. Ranks
/// that share cores wait for each other, so their preemptions say nothing about other programs.
/// Counters that were reset or ran backwards are ignored.
enum class Cores { shared, one_each };
HostHealth health_between(const HostLook& before, const HostLook& after, Cores cores);

/// Watches for disturbances of a launch: each rank its core, the first rank of each host the
/// counters of the kernel and of NVIDIA's driver. They look twice; in between it costs nothing.
class HealthWatch {
public:
    /// Takes the first look. Collective.
    explicit HealthWatch(World& world, const std::filesystem::path& root = meters_root(),
                         const std::filesystem::path& nvml = "libnvidia-ml.so.1");

    /// Returns the conditions of the hosts at the first look; the same on all ranks.
    const std::vector<HostHealth>& at_begin() const { return at_begin_; }

    /// Returns what happened since the first look. Collective; the same on all ranks.
    std::vector<HostHealth> since() const;

private:
    HostLook look() const;
    std::vector<HostHealth> of_all_hosts(HostHealth mine) const;

    World& world_;
    std::filesystem::path root_;
    std::optional<NvmlLibrary> driver_;  // stays open, because GPUs may sleep without it
    HostLook first_;
    std::vector<HostHealth> at_begin_;
};

}  // namespace tutti
