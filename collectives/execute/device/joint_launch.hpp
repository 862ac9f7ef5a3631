// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/device/accelerator.hpp"
#include "collectives/transport/gpu/device_transport.hpp"

namespace tutti {

/// One launch of all ranks of this process on one device: blocks that wait for each other must all
/// run at once. The last rank to start it launches; each asks for itself whether it is over.
class JointLaunch {
public:
    JointLaunch(Accelerator& device, std::vector<Rank> ranks, const Work& work);

    void start(Rank rank, std::uint64_t timeout_ns);
    bool has_begun(std::uint64_t run) const { return launched_.load() >= run; }
    bool is_over(std::uint64_t run) { return has_begun(run) && launch_->is_over(); }
    /// A rank that has not started that run; nothing if all have.
    std::optional<Rank> missing_in(std::uint64_t run) const;
    std::optional<std::int64_t> device_ns() { return launch_->device_ns(); }

private:
    std::vector<Rank> ranks_;
    std::unique_ptr<DeviceLaunch> launch_;
    std::unique_ptr<std::atomic<std::uint64_t>[]> starts_;  // of each rank
    std::atomic<std::size_t> waiting_ = 0;
    std::atomic<std::uint64_t> launched_ = 0;  // runs
};

/// The launch that this rank takes part in. `programs` are those of its blocks, in device memory;
/// the rest of the work is the same on all ranks. Collective.
std::shared_ptr<JointLaunch> joint_launch(World& world, const DevicePlaces& places,
                                          const DeviceProgram* programs, Work work);

}  // namespace tutti
