// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/joint_launch.hpp"

namespace tutti {

JointLaunch::JointLaunch(Accelerator& device, std::vector<Rank> ranks, const Work& work)
    : ranks_(std::move(ranks)),
      launch_(device.prepare(work)),
      starts_(std::make_unique<std::atomic<std::uint64_t>[]>(ranks_.size())) {}

void JointLaunch::start(Rank rank, std::uint64_t patience_ns) {
    for (std::size_t i = 0; i < ranks_.size(); ++i)
        if (ranks_[i] == rank) starts_[i].fetch_add(1);
    if (waiting_.fetch_add(1) + 1 < ranks_.size()) return;
    waiting_ = 0;
    launch_->start(patience_ns);
    launched_.fetch_add(1);
}

std::optional<Rank> JointLaunch::missing_in(std::uint64_t run) const {
    for (std::size_t i = 0; i < ranks_.size(); ++i)
        if (starts_[i].load() < run) return ranks_[i];
    return std::nullopt;
}

std::shared_ptr<JointLaunch> joint_launch(World& world, const DevicePlaces& places,
                                          const DeviceProgram* programs, Work work) {
    const auto all = gathered(world, programs);
    for (const Rank rank : places.neighbours)
        work.of_rank.push_back(all[static_cast<std::size_t>(rank.index)]);
    const Rank first = places.neighbours.front();
    std::shared_ptr<JointLaunch> own;
    std::string problem;
    try {
        if (first == world.rank())
            own = std::make_shared<JointLaunch>(*places.device, places.neighbours, work);
    } catch (const Error& error) {
        problem = error.what();
    }
    agree_on(world, "launch", problem.empty() ? nullptr : problem.c_str());
    return shared_by_first(world, first, own);
}

}  // namespace tutti
