// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/index.hpp"
#include "base/units.hpp"
#include "collectives/device/accelerator.hpp"
#include "collectives/transport/endpoint.hpp"
#include "collectives/transport/faults.hpp"

namespace tutti {

/// Which device each rank runs on. Ranks of one process on one device are *virtual ranks*: they are
/// run by one launch.
struct DevicePlaces {
    std::shared_ptr<Accelerator> device;  ///< this rank's, the same object for its neighbours
    std::vector<Rank> neighbours;         ///< of this process on the same device, with this rank
    bool is_virtual = false;              ///< some device hosts several ranks
};

/// Between ranks on devices that load and store each other's memory: a plan runs inside one kernel,
/// see execute/device/device_plan.cpp.
class DeviceTransport final : public Transport {
public:
    /// Calls of at most `ll_up_to` go by messages that carry their flags.
    DeviceTransport(std::string_view name, DevicePlaces places, Bytes ll_up_to)
        : name_(name), places_(std::move(places)), ll_up_to_(ll_up_to) {}

    std::string_view name() const override { return name_; }
    std::string details() const override;
    const DevicePlaces& places() const { return places_; }
    Accelerator& device() const { return *places_.device; }
    Bytes ll_up_to() const { return ll_up_to_; }

private:
    std::string_view name_;
    DevicePlaces places_;
    Bytes ll_up_to_;
};

/// Ranks on GPUs: threads are dealt to those of TUTTI_GPUS (or all) in turn, processes have one
/// each. Both throw Error if a GPU is named that is not there.
std::optional<std::string> cuda_refuses(World& world);
std::unique_ptr<Transport> cuda_transport(World& world, const std::optional<Fault>& fault);

/// All ranks on one emulated device. They are threads of one process. The fault can only be `stop`.
std::unique_ptr<Transport> emulated_transport(World& world, const std::optional<Fault>& fault);

/// What the first of the ranks that name the same group gives to all of them; they are threads of
/// one process, or each is alone in its group. Collective over all ranks.
template <class T>
std::shared_ptr<T> shared_by_first(World& world, Rank first, const std::shared_ptr<T>& mine) {
    if (!world.one_process()) return mine;
    const auto all = gather_all<const std::shared_ptr<T>*>(world, &mine);
    const std::shared_ptr<T> shared = *at(all, first);
    world.barrier();  // until then the first one's is looked at
    return shared;
}

}  // namespace tutti
