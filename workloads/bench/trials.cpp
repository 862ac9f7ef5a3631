// SPDX-License-Identifier: Apache-2.0
#include "workloads/bench/trials.hpp"

#include "workloads/check/check_data.hpp"

namespace tutti {

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
