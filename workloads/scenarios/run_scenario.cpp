// SPDX-License-Identifier: Apache-2.0
#include "workloads/scenarios/workload.hpp"

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
                                       const std::vector<Method>& ways,
                                       const StepProtocol& protocol) {
    std::vector<TrainingStep> all;
    std::vector<std::unique_ptr<Steps>> able;
    std::vector<std::size_t> place_of;
    std::vector<StepDoer> doers;
    for (const Method& way : ways) {
        TrainingStep& step = all.emplace_back();
        step.key.model = scenario.model();
        step.key.way = way.name;
        step.key.nranks = world.size();
        step.key.ppn = static_cast<int>(world.hosts().nodes().front().size());
        step.key.bytes = scenario.bytes_of_step();
        step.key.calls = scenario.calls_of_step();
        std::string reason;
        auto steps = scenario.steps(way, reason);
        if (!steps) {
            step.skipped = reason;
            continue;
        }
        step.check = checked(world, *steps);
        place_of.push_back(all.size() - 1);
        doers.push_back([&steps = *steps](StepPart part, std::int64_t number) {
            return steps.run(part, number);
        });
        able.push_back(std::move(steps));
    }
    const auto measured = measure_steps(world, doers, protocol);
    for (std::size_t i = 0; i < measured.size(); ++i) {
        TrainingStep& step = all[place_of[i]];
        TrainingStep times = measured[i];
        times.key = step.key;
        times.check = step.check;
        times.metrics = able[i]->metrics();
        step = std::move(times);
    }
    return all;
}

}  // namespace tutti
