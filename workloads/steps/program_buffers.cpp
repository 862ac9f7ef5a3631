// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "base/index.hpp"
#include "workloads/bench/buffer_pool.hpp"
#include "workloads/steps/step_runner.hpp"

namespace tutti {

ProgramBuffers::ProgramBuffers(Planner& all, const Program& program,
                               std::optional<BufferKind> buffers,
                               const std::vector<std::string>& transports)
    : all_(all), program_(program), groups_(program.groups.size()) {
    const Rank me = world().rank();
    bool all_are_taken = false;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        const auto& members = program_.groups[i];
        const int place = place_in(members, me);
        Group group;
        // Groups of the same ranks order their calls separately, which a library's communicator
        // cannot. So the second group of all ranks becomes a sub-communicator, too.
        if (is_all(members) && !all_are_taken) {
            all_are_taken = true;
            group.plans = &all_;
        } else {
            // Groups keep their members' order.
            const auto ordered = std::ranges::is_sorted(members, {}, &Rank::index);
            if (!ordered) throw Error("program '" + program_.name + "': a group is not in order");
            group.world = world().split(place >= 0 ? std::optional(0) : std::nullopt);
            if (place < 0) continue;
            group.planner = std::make_unique<Planner>(*group.world);
            group.planner->tune(all_.tuning());
            group.plans = group.planner.get();
        }
        group.environment = environment_of(group.plans->world());
        groups_[i] = std::move(group);
    }
    refuse_more_than_memory(world(), bytes_of_memory(), "a smaller --scale");
    std::vector<BufferKind> kinds;
    if (buffers) kinds.push_back(*buffers);
    std::map<int, std::shared_ptr<BufferPool>> shared;
    for (const GroupCall& one : program_.calls) {
        auto& memory = memory_.emplace_back();
        const auto& group = at(groups_, one.group);
        if (!group) continue;
        if (one.memory >= 0) memory = shared[one.memory];
        if (!memory) {
            World& ranks = group->plans->world();
            memory = std::make_shared<BufferPool>(
                ranks, BufferPool::bytes_for(one.call, ranks.size(), one.in_place), kinds,
                device_buffers(*group->plans, transports));
        }
        if (one.memory >= 0) shared[one.memory] = memory;
    }
}

// Returns the bytes of all calls of this rank; shared memory counts once.
std::size_t ProgramBuffers::bytes_of_memory() const {
    std::size_t bytes = 0;
    std::set<int> shared;
    for (const GroupCall& one : program_.calls) {
        const auto& group = at(groups_, one.group);
        if (!group || (one.memory >= 0 && !shared.insert(one.memory).second)) continue;
        bytes += BufferPool::bytes_for(one.call, group->environment.ranks, one.in_place);
    }
    return bytes;
}

bool ProgramBuffers::is_all(const std::vector<Rank>& group) const {
    return static_cast<int>(group.size()) == world().size() &&
           std::ranges::is_sorted(group, {}, &Rank::index);
}

const ProgramBuffers::Group* ProgramBuffers::group_of(int call) const {
    const auto& group = at(groups_, at(program_.calls, call).group);
    return group ? &*group : nullptr;
}

PooledBuffers ProgramBuffers::buffers_of(int call) const {
    const GroupCall& one = at(program_.calls, call);
    const BufferPool& memory = *at(memory_, call);
    return memory.buffers_for(one.call, one.in_place, memory.kinds().front());
}

}  // namespace tutti
