// SPDX-License-Identifier: Apache-2.0
#include "workloads/bench/trials.hpp"

#include "workloads/check/check_data.hpp"

namespace tutti {

std::unique_ptr<Operation> operation_of(Planner& planner, const Candidate& candidate,
                                        const Call& call, const PooledBuffers& buffers,
                                        const Environment& environment) {
    if (candidate.on_devices && memory_of(buffers.call) == MemoryOf::device)
        return candidate.on_devices->operation(planner, call, buffers);
    if (candidate.chooser) return candidate.chooser(call, buffers);
    if (!candidate.is_ours())
        return candidate.baseline->make(
            planner.world(), {call, candidate.algorithm, buffers.call.in_place}, buffers.call);
    Choice choice = choice_of(candidate, environment.default_segment);
    choice.placement = environment.hosts;
    if (!candidate.order.empty()) choice.order = environment.orders.at(candidate.order);
    return planner.plan(choice, call, buffers.call, buffers.registered);
}

Trial trial_of(Operation& operation, const World& world, const Call& call,
               const PooledBuffers& buffers, bool check) {
    Trial trial{.operation = &operation, .prepare = {}, .count_wrong = {}};
    trial.keeps_input = !buffers.call.in_place;
    if (!check) return trial;
    const Rank me = world.rank();
    const int ranks = world.size();
    trial.prepare = [=](std::uint64_t seed) {
        const CheckCase now = check_of(call, ranks, seed);
        buffers.write_output([](std::span<std::byte> output) { poison(output); });
        buffers.write_input([&](std::span<std::byte> input) { fill_input(now, me, input); });
    };
    trial.count_wrong = [=](std::uint64_t seed) {
        const CheckCase now = check_of(call, ranks, seed);
        return buffers.count_in_output(
            [&](std::span<const std::byte> output) { return count_wrong(now, me, output); });
    };
    return trial;
}

}  // namespace tutti
