// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

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
    const auto bytes = bytes_of_memory();
    std::size_t all_bytes = 0;
    for (const auto& [memory, of_memory] : bytes) all_bytes += of_memory;
    refuse_more_than_memory(world(), all_bytes, "a smaller --scale");
    std::vector<BufferKind> kinds;
    if (buffers) kinds.push_back(*buffers);
    std::map<int, std::shared_ptr<BufferPool>> pools;
    for (int call = 0; call < int_size(program_.calls); ++call) {
        auto& memory = memory_.emplace_back();
        const Group* group = group_of(call);
        if (group == nullptr) continue;
        auto& pool = pools[memory_key(call)];
        if (!pool)
            pool = std::make_shared<BufferPool>(group->plans->world(), bytes.at(memory_key(call)),
                                                kinds, device_buffers(*group->plans, transports));
        memory = pool;
    }
}

// Calls with the same key share memory.
int ProgramBuffers::memory_key(int call) const {
    const int memory = at(program_.calls, call).memory;
    return memory >= 0 ? memory : -1 - call;
}

// Returns the bytes of the memory of all calls of this rank: of each the most that a call needs.
std::map<int, std::size_t> ProgramBuffers::bytes_of_memory() const {
    std::map<int, std::size_t> bytes;
    for (int call = 0; call < int_size(program_.calls); ++call) {
        const Group* group = group_of(call);
        if (group == nullptr) continue;
        const GroupCall& one = at(program_.calls, call);
        std::size_t& most = bytes[memory_key(call)];
        const auto include = [&](const Call& step) {
            const int ranks = group->environment.ranks;
            most = std::max(most, BufferPool::bytes_for(step, ranks, one.in_place));
        };
        include(one.call);
        for (const Call& step : one.of_steps) include(step);
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
    return buffers_of(call, at(program_.calls, call).call);
}

PooledBuffers ProgramBuffers::buffers_of(int call, const Call& in_step) const {
    const BufferPool& memory = *at(memory_, call);
    return memory.buffers_for(in_step, at(program_.calls, call).in_place, memory.kinds().front());
}

}  // namespace tutti
