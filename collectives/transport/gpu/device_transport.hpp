// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "collectives/device/accelerator.hpp"
#include "collectives/transport/faults.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// The devices of ranks that load and store each other's memory: a plan runs inside one kernel, see
/// execute/device/device_plan.cpp. Ranks of one process on one device are *virtual ranks*, run by
/// one launch.
struct DevicePlaces {
    /// This rank's device, the same object for its neighbours.
    std::shared_ptr<Accelerator> device;
    std::vector<Rank> neighbours;  ///< ranks of this process on the same device, including this one
    bool is_virtual = false;       ///< some device hosts several ranks

    /// Names this rank's device, and how many ranks share it.
    std::string details() const;
};

/// For ranks on GPUs: threads take those of TUTTI_GPUS (or all) in turn, processes have one each.
/// Both throw Error if TUTTI_GPUS names a missing GPU.
std::optional<std::string> cuda_refuses(World& world);
std::unique_ptr<DevicePlaces> cuda_transport(World& world, const std::optional<Fault>& fault);

/// Runs all ranks on one emulated device, as threads of one process. The fault can only be `stop`.
std::unique_ptr<DevicePlaces> emulated_transport(World& world, const std::optional<Fault>& fault);

/// Returns the value of rank `first` to all ranks that pass the same `first`: threads of one
/// process, or each alone in its group. Collective over all ranks.
template <class T>
std::shared_ptr<T> shared_by_first(World& world, Rank first, const std::shared_ptr<T>& mine) {
    if (!world.one_process()) return mine;
    const auto all = gather_all<const std::shared_ptr<T>*>(world, &mine);
    const std::shared_ptr<T> shared = *at(all, first);
    world.barrier();  // until then the first rank's value is read
    return shared;
}

}  // namespace tutti
