// SPDX-License-Identifier: Apache-2.0
#pragma once
// One checked call in memory that the host cannot access.
#include "collectives/planner/planner.hpp"
#include "far_device.hpp"
#include "workloads/check/check_data.hpp"

namespace tutti::test {

struct FarTrial {
    Call call;
    const Algorithm* algorithm;
    bool in_place = false;
    Bytes segment = {1024};
};

/// Returns the wrong elements over some runs, in the device's own view of its memory.
inline std::int64_t wrong_elements(Planner& planner, FarDevice& device, std::string_view transport,
                                   const FarTrial& trial) {
    const int ranks = planner.world().size();
    const Rank me = planner.world().rank();
    const std::size_t input = input_bytes(trial.call, ranks, me),
                      output = output_bytes(trial.call, ranks, me);
    const auto at = trial.in_place ? in_place_offsets(trial.call, ranks, me)
                                   : InPlace{.input = 0, .output = input};
    const std::size_t bytes = std::max(at.input + input, at.output + output);
    const auto memory = device.allocate(bytes);
    const CallBuffers there{.input = {memory.get() + at.input, input},
                            .output = {memory.get() + at.output, output},
                            .in_place = trial.in_place,
                            .device = &device};
    const std::span here_in(device.seen(memory.get()) + at.input, input);
    const std::span here_out(device.seen(memory.get()) + at.output, output);
    const auto plan = planner.plan(
        {trial.algorithm, {.transport = std::string(transport), .segment = trial.segment}},
        trial.call, there);
    std::int64_t wrong = 0;
    for (std::uint64_t run = 0; run < 2; ++run) {
        const CheckCase check = check_of(trial.call, ranks, run);
        poison(here_out);
        fill_input(check, me, here_in);
        plan->run();
        wrong += count_wrong(check, me, here_out);
    }
    if (const auto left = plan->left_over()) throw Error(*left);
    planner.world().barrier();
    return wrong;
}

}  // namespace tutti::test
