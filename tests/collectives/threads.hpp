// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tests of running plans share: one checked call on threads.
#include <gtest/gtest.h>

#include <cstring>

#include "collectives/execute/planner.hpp"
#include "workloads/check_of_call.hpp"

namespace tutti::test {

enum class Buffers { registered, ordinary };

/// One call as tests describe it.
struct Trial {
    Call call;
    const Algorithm* algorithm;
    std::string_view transport;
    bool in_place = false;
    Buffers buffers = Buffers::ordinary;
    int runs = 2;
    Bytes segment = {1024};
    Placement placement = {};
    Order order = {};
    int radix = 0;
    int channels = 1;
};

/// Runs the trial on this rank and returns how many elements of its results were wrong.
inline std::int64_t wrong_elements(Planner& planner, const Trial& trial) {
    World& world = planner.world();
    const int ranks = world.size();
    const std::size_t input = input_bytes(trial.call, ranks, world.rank());
    const std::size_t output = output_bytes(trial.call, ranks, world.rank());
    const auto both = trial.in_place ? in_place_offsets(trial.call, ranks, world.rank())
                                     : InPlace{.input = 0, .output = input};
    const std::size_t bytes = std::max(both.input + input, both.output + output);

    // Of an emulated device, the host reaches it, too.
    std::unique_ptr<ReachableMemory> shared;
    std::vector<std::byte> ordinary;
    std::span<std::byte> memory;
    if (trial.buffers == Buffers::registered)
        memory = (shared = planner.registered_memory(trial.transport, bytes))->mine();
    else
        memory = ordinary = std::vector<std::byte>(bytes);

    const CallBuffers buffers{memory.subspan(both.input, input),
                              memory.subspan(both.output, output), trial.in_place};
    const auto plan = planner.plan({trial.algorithm, trial.transport, trial.segment, trial.radix,
                                    trial.channels, trial.placement, trial.order},
                                   trial.call, buffers, shared.get());
    std::int64_t wrong = 0;
    for (int run = 0; run < trial.runs; ++run) {
        const CheckCase check = check_of(trial.call, ranks, static_cast<std::uint64_t>(run));
        poison(buffers.output);
        fill_input(check, world.rank(), memory.subspan(both.input, input));
        plan->run();
        wrong += count_wrong(check, world.rank(), buffers.output);
    }
    if (const auto left = plan->left_over()) throw Error(*left);
    world.barrier();
    return wrong;
}

inline std::string to_text(const Trial& trial, int ranks) {
    return std::string(name_of(trial.call.collective)) + " " + std::string(trial.algorithm->name) +
           " over " + std::string(trial.transport) + ", " + std::to_string(ranks) +
           " ranks, root " + std::to_string(trial.call.root.index) + ", " +
           std::to_string(trial.call.count) + " " + std::string(name_of(trial.call.type)) + " " +
           std::string(name_of(trial.call.op)) + (trial.in_place ? " in place" : "") +
           (trial.buffers == Buffers::registered ? " registered" : " ordinary");
}

}  // namespace tutti::test
