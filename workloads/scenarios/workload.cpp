// SPDX-License-Identifier: Apache-2.0
#include "workloads/scenarios/workload.hpp"

#include "base/name_table.hpp"

namespace tutti {

namespace {

Check checked(World& world, Steps& steps) {
    const auto mine = steps.count_wrong();
    if (!mine) return {};
    Check check;
    for (const std::int64_t of_rank : gather_all(world, *mine)) check.n_wrong += of_rank;
    check.state = check.n_wrong == 0 ? CheckState::ok : CheckState::fail;
    return check;
}

}  // namespace

std::vector<TrainingStep> run_scenario(World& world, Scenario& scenario,
                                       const std::vector<Method>& methods,
                                       const StepProtocol& protocol) {
    std::vector<TrainingStep> all;
    std::vector<std::unique_ptr<Steps>> able;
    std::vector<std::size_t> place_of;
    std::vector<RunStep> runs;
    for (const Method& method : methods) {
        TrainingStep& step = all.emplace_back();
        step.key.model = scenario.model();
        step.key.method = method.name;
        step.key.nranks = world.size();
        step.key.ppn = static_cast<int>(world.hosts().nodes().front().size());
        step.key.bytes = scenario.bytes_of_step();
        step.key.calls = scenario.calls_of_step();
        auto [steps, refusal] = scenario.steps(method);
        if (!steps) {
            step.skipped = std::move(refusal);
            continue;
        }
        step.check = checked(world, *steps);
        place_of.push_back(all.size() - 1);
        runs.push_back([&steps = *steps](StepPart part, std::int64_t number) {
            return steps.run(part, number);
        });
        able.push_back(std::move(steps));
    }
    // Adds times, which are in the order of the methods that can run.
    const auto with_times = [&](std::vector<TrainingStep> measured) {
        std::vector<TrainingStep> steps = all;
        for (std::size_t i = 0; i < measured.size(); ++i) {
            TrainingStep& step = steps[place_of[i]];
            measured[i].key = step.key;
            measured[i].check = step.check;
            step = std::move(measured[i]);
        }
        return steps;
    };
    StepProtocol of_these = protocol;
    of_these.earlier.clear();
    for (const std::size_t place : place_of)
        if (place < protocol.earlier.size()) of_these.earlier.push_back(protocol.earlier[place]);
    if (protocol.so_far)
        of_these.so_far = [&](std::vector<TrainingStep> partial) {
            protocol.so_far(with_times(std::move(partial)));
        };
    auto steps = with_times(measure_steps(world, runs, of_these));
    for (std::size_t i = 0; i < able.size(); ++i) steps[place_of[i]].metrics = able[i]->metrics();
    return steps;
}

// A new workload is a file in scenarios/, a line here and one in the table.
Workload ddp_workload();
Workload zero_workload();
Workload tensor_parallel_workload();
Workload pipeline_workload();
Workload moe_workload();
Workload train_workload();
Workload parameter_server_workload();
Workload federated_workload();
Workload replay_workload();

namespace {

const Workload rows[] = {
    ddp_workload(),    zero_workload(),  tensor_parallel_workload(),  pipeline_workload(),
    moe_workload(),    train_workload(), parameter_server_workload(), federated_workload(),
    replay_workload(),
};

}  // namespace

std::span<const Workload> workloads() { return rows; }

const Workload& find_workload(std::string_view name) { return find_row(rows, "workload", name); }

}  // namespace tutti
