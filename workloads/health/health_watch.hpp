// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "collectives/world/world.hpp"
#include "topology/detect/nvml_library.hpp"
#include "workloads/health/host_look.hpp"

namespace tutti {

/// Watches what disturbs a launch: each rank its core, the first rank of each host what the kernel
/// and NVIDIA's driver count. They look twice; in between it costs nothing.
class HealthWatch {
public:
    /// The first look. Collective.
    explicit HealthWatch(World& world, const std::filesystem::path& root = meters_root(),
                         const std::filesystem::path& nvml = "libnvidia-ml.so.1");

    /// How the hosts did then; the same on all ranks.
    const std::vector<HostHealth>& at_begin() const { return at_begin_; }

    /// What happened since then. Collective; the same on all ranks.
    std::vector<HostHealth> since() const;

private:
    HostLook look() const;
    std::vector<HostHealth> of_all_hosts(HostHealth mine) const;

    World& world_;
    std::filesystem::path root_;
    std::optional<NvmlLibrary> driver_;  // open all the time: GPUs may sleep without it
    HostLook first_;
    std::vector<HostHealth> at_begin_;
};

}  // namespace tutti
