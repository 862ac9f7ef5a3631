// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common code of the tests that run plans: one checked call on threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "collectives/device/accelerator.hpp"
#include "collectives/planner/planner.hpp"
#include "collectives/transport/table/transports.hpp"
#include "tests/collectives/hosts_of_threads.hpp"
#include "workloads/check/check_data.hpp"

namespace tutti::test {

enum class Buffers { registered, unregistered };

/// One call as described by tests.
struct Attempt {
    Call call;
    const Algorithm* algorithm;
    std::string_view transport;
    bool in_place = false;
    Buffers buffers = Buffers::unregistered;
    int runs = 2;
    Bytes segment = {1024};
    Placement placement = {};
    Order order = {};
    int radix = 0;
    int channels = 1;
};

/// Runs the trial on this rank and returns the number of wrong elements in its results, plus, out
/// of place, the changed bytes of its input, which belongs to the caller.
inline std::int64_t wrong_elements(Planner& planner, const Attempt& trial) {
    World& world = planner.world();
    const int ranks = world.size();
    const std::size_t input = input_bytes(trial.call, ranks, world.rank());
    const std::size_t output = output_bytes(trial.call, ranks, world.rank());
    const auto both = trial.in_place ? in_place_offsets(trial.call, ranks, world.rank())
                                     : InPlace{.input = 0, .output = input};
    const std::size_t bytes = std::max(both.input + input, both.output + output);

    std::unique_ptr<ReachableMemory> shared;
    std::vector<std::byte> unregistered;
    if (trial.buffers == Buffers::registered && world.one_host())
        shared = planner.registered_memory(trial.transport, bytes);
    Accelerator* const device = shared ? shared->device() : nullptr;
    if (!shared || device) unregistered.resize(bytes);  // data on a device is filled from here
    const std::span<std::byte> there = shared ? shared->mine() : unregistered;
    const std::span<std::byte> here = device ? unregistered : there;

    const CallBuffers buffers{there.subspan(both.input, input), there.subspan(both.output, output),
                              trial.in_place};
    const Choice choice{trial.algorithm,
                        {.transport = std::string(trial.transport),
                         .order = "of the test",
                         .segment = trial.segment,
                         .radix = trial.radix,
                         .channels = trial.channels},
                        {.hosts = trial.placement, .orders = {{"of the test", trial.order}}}};
    const auto plan = planner.plan(choice, trial.call, buffers, shared.get());
    std::int64_t wrong = 0;
    for (int run = 0; run < trial.runs; ++run) {
        const CheckCase check = check_of(trial.call, ranks, static_cast<std::uint64_t>(run));
        const auto result = here.subspan(both.output, output);
        poison(result);
        const auto given = here.subspan(both.input, input);
        fill_input(check, world.rank(), given);
        const std::vector<std::byte> as_given(given.begin(), given.end());
        if (device) device->copy_in(there.data(), here);
        plan->run();
        if (device) device->copy_out(result, buffers.output.data());
        wrong += count_wrong(check, world.rank(), result);
        if (trial.in_place) continue;
        if (device) device->copy_out(given, buffers.input.data());
        for (std::size_t i = 0; i < input; ++i) wrong += given[i] != as_given[i];
    }
    if (const auto left = plan->left_over()) throw Error(*left);
    world.barrier();
    return wrong;
}

/// Whether a test also walks the rows that are one method of another row (see TransportRow).
enum class Rows { all, without_parts };

/// Returns the transports that join threads without a GPU, from the table: a new row is tested
/// automatically.
inline std::vector<std::string_view> transports_of_threads(Rows rows = Rows::all) {
    std::vector<std::string_view> names;
    for (const TransportRow& row : transports()) {
        const bool needs_gpu = row.between_devices || row.name == "cuda";
        const bool needs_processes = row.name == "mpi" || row.name == "hybrid-mpi";
        const bool is_left_out = rows == Rows::without_parts && row.is_part;
        if (!needs_gpu && !needs_processes && !is_left_out) names.push_back(row.name);
    }
    return names;
}

/// Runs `body` on threads that a transport can join. Those of hybrid lie on two hosts of different
/// size, in turn; fewer than three ranks are left out for it, because no two would share a host.
inline void run_over(std::string_view transport, int ranks, double hang_timeout,
                     const std::function<void(World&)>& body) {
    if (transport != "hybrid") return run_as_threads(ranks, hang_timeout, body);
    std::vector<int> host_of_rank;
    for (int rank = 0; rank < ranks; ++rank) host_of_rank.push_back(rank % 3 / 2);
    if (ranks >= 3)
        run_as_threads(ranks, hang_timeout, [&](World& threads) {
            WorldOfHosts world(threads, Placement::by_label(host_of_rank));
            body(world);
        });
}

/// Returns the name of a test that has a transport as its parameter.
inline std::string name_of_transport(const testing::TestParamInfo<std::string_view>& test) {
    std::string name(test.param);
    std::ranges::replace(name, '-', '_');
    return name;
}

inline std::string to_text(const Attempt& trial, int ranks) {
    return std::string(name_of(trial.call.collective)) + " " + std::string(trial.algorithm->name) +
           " over " + std::string(trial.transport) + ", " + std::to_string(ranks) +
           " ranks, root " + std::to_string(trial.call.root.index) + ", " +
           std::to_string(trial.call.count) + " " + std::string(name_of(trial.call.type)) + " " +
           std::string(name_of(trial.call.op)) + (trial.in_place ? " in place" : "") +
           (trial.buffers == Buffers::registered ? " registered" : " unregistered");
}

}  // namespace tutti::test
