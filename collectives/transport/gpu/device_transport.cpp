// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/gpu/device_transport.hpp"

#include "collectives/device/emulated_device.hpp"
#include "collectives/schedule/schedule.hpp"

namespace tutti {

std::string DeviceTransport::details() const {
    const std::size_t ranks = places_.neighbours.size();
    if (!places_.is_virtual) return device().name();
    return "(v) virtual ranks, " + std::to_string(ranks) + " on " + device().name();
}

std::unique_ptr<Transport> emulated_transport(World& world, const std::optional<Fault>& fault) {
    std::optional<int> stopped;
    if (fault) {
        if (fault->kind != Fault::Kind::stop || !fault->from)
            throw Error("cuda-emulated knows one fault; type stop:from=RANK");
        stopped = fault->from->index;
    }
    std::shared_ptr<Accelerator> own;
    if (world.is_first()) own = emulated_device(stopped);
    DevicePlaces places{shared_by_first(world, Rank{0}, own), {}, world.size() > 1};
    for (const Rank rank : all_ranks(world.size())) places.neighbours.push_back(rank);
    constexpr Bytes ll_up_to{512};  // few, so that tests see both ways
    return std::make_unique<DeviceTransport>("cuda-emulated", std::move(places), ll_up_to);
}

}  // namespace tutti
