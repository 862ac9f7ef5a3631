// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/device/joint_launch.hpp"

namespace tutti {

JointLaunch::JointLaunch(Accelerator& device, std::vector<Rank> ranks, const Work& work)
    : ranks_(std::move(ranks)),
      launch_(device.prepare(work)),
      starts_(std::make_unique<std::atomic<std::uint64_t>[]>(ranks_.size())) {}

void JointLaunch::start(Rank rank, std::uint64_t timeout_ns) {
    for (std::size_t i = 0; i < ranks_.size(); ++i)
        if (ranks_[i] == rank) starts_[i].fetch_add(1);
    if (waiting_.fetch_add(1) + 1 < ranks_.size()) return;
    waiting_ = 0;
    launch_->start(timeout_ns);
    launched_.fetch_add(1);
}

std::optional<Rank> JointLaunch::missing_in(std::uint64_t run) const {
    for (std::size_t i = 0; i < ranks_.size(); ++i)
        if (starts_[i].load() < run) return ranks_[i];
    return std::nullopt;
}

std::shared_ptr<JointLaunch> joint_launch(World& world, const DevicePlaces& places,
                                          const DeviceProgram* programs, Work work) {
    const auto all = gather_all(world, programs);
    for (const Rank rank : places.neighbours)
        work.of_rank.push_back(all[static_cast<std::size_t>(rank.index)]);
    const Rank first = places.neighbours.front();
    const auto own = make_on_all_ranks(world, "launch", [&]() -> std::shared_ptr<JointLaunch> {
        if (first != world.rank()) return nullptr;
        return std::make_shared<JointLaunch>(*places.device, places.neighbours, work);
    });
    return shared_by_first(world, first, own);
}

}  // namespace tutti
