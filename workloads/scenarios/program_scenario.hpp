// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "results/records/step.hpp"
#include "workloads/program/program.hpp"
#include "workloads/scenarios/workload.hpp"
#include "workloads/steps/step_runner.hpp"
#include "workloads/steps/step_times.hpp"

namespace tutti {

/// Called untimed on each rank before step `number`, for example to load real data into the inputs.
using BeforeStep = std::function<void(const ProgramBuffers& buffers, std::int64_t number)>;

/// Returns a scenario that runs a program: its collectives on memory in place of gradients, between
/// simulated computing. Adds `metrics` to every method. Throws Error if check() does. Collective.
std::unique_ptr<Scenario> scenario_of(Program program, std::vector<std::string> notes,
                                      std::vector<Metric> metrics,
                                      const WorkloadEnvironment& environment,
                                      BeforeStep before = {});

/// The setting `padding`.
enum class Padding : std::uint8_t { no, yes, both };

/// Reads the setting `padding`, whose value "auto" means `usual`.
Padding padding_of(const Settings& settings, std::string_view usual);

/// Returns the scenario that `make` makes of exact or padded blocks. With both, each method sends
/// exact blocks and, as a variant "METHOD+padded", padded ones.
std::unique_ptr<Scenario> with_padding(
    Padding padding, const std::function<std::unique_ptr<Scenario>(Blocks)>& make);

/// The effect of skew on a method, computed from pairs of steps with and without it.
class SkewEffect {
public:
    /// `even` and `uneven` are the programs without and with skew; they outlive it.
    SkewEffect(const Program& even, const Program& uneven) : even_(even), uneven_(uneven) {}

    void add(std::int64_t number, const StepTimes& even, const StepTimes& uneven);

    /// Returns medians: "unskewed_step_ms"; "step_over_unskewed"; "wait_added_ms", the growth of
    /// waiting for other ranks; "skew_ms", the growth of the slowest rank's computing; and
    /// "sensitivity", the growth of the step over skew_ms: 0 if skew is hidden, 1 if the step grows
    /// as much.
    std::vector<Metric> metrics() const;

private:
    const Program& even_;
    const Program& uneven_;
    std::vector<double> even_ms_, ratio_, wait_ms_, growth_ms_, skew_ms_;
};

}  // namespace tutti
