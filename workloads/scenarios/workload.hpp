// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/program/settings.hpp"
#include "workloads/program/skewed.hpp"
#include "workloads/steps/measure_steps.hpp"

namespace tutti {

/// What a workload has to run on. Outlives what is made with it.
struct WorkloadEnvironment {
    Planner& planner;
    ComputeMode compute = ComputeMode::sleep;
    std::optional<BufferKind> buffers = {};  ///< none: registered where the ranks can share memory
    std::vector<std::string> transports = {};  ///< that take part: see device_buffers()
    GlobalClock* clock = nullptr;
    std::uint64_t seed = 1;
    std::span<const Method> named = {};  ///< the ways that the user names, for who wants to measure
    Skew skew = {};  ///< for programs; scenarios without a compute mode need not heed it
};

/// A way that is ready to do steps, and what it tells afterwards. Collective, all of it.
class Steps {
public:
    virtual ~Steps() = default;
    virtual StepStamps run(StepPart part, std::int64_t number) = 0;
    /// Elements of all ranks that are wrong after calls with known results; asked for once, before
    /// anything is timed. Nothing to check: none.
    virtual std::optional<std::int64_t> count_wrong() { return std::nullopt; }
    /// What only this workload tells. Asked for after the last step.
    virtual std::vector<Metric> metrics() { return {}; }
};

/// A workload, made for these ranks and settings. Collective, all of it.
class Scenario {
public:
    virtual ~Scenario() = default;
    /// The model's, the network's or the trace's name.
    virtual std::string model() const = 0;
    /// Whether the compute mode means anything here: not where real networks are trained.
    virtual bool has_compute_mode() const { return true; }
    /// Lines that are told before the table: sizes, bounds, formulas.
    virtual std::vector<std::string> notes() const { return {}; }
    /// What a rank hands to collectives in a step, and in how many calls; of the busiest rank.
    virtual std::int64_t bytes_of_step() const = 0;
    virtual std::int64_t calls_of_step() const = 0;
    /// The ways to compare, if they are not the ones that the user names. Names are shown.
    virtual std::vector<Method> ways(std::vector<Method> named) const { return named; }
    /// Nothing if it cannot be done so; `reason` then says why, on all ranks alike.
    virtual std::unique_ptr<Steps> steps(const Method& way, std::string& reason) = 0;
};

/// A row of the table of workloads.
struct Workload {
    std::string_view name;
    std::string_view what;  ///< one sentence
    std::span<const SettingRow> settings;
    /// Throws Error for settings that are wrong; before any rank starts, so without ranks. May be
    /// null where any text will do.
    void (*check)(const Settings&);
    std::unique_ptr<Scenario> (*make)(const Settings&, const WorkloadEnvironment&);
};

/// The one place where workloads are listed.
std::span<const Workload> workloads();

/// Throws Error naming the known ones.
const Workload& find_workload(std::string_view name);

/// Measures a scenario in all ways that can do it, alternating. Steps in the order of the ways,
/// keys but for workload and settings filled in. Collective; the same on all ranks.
std::vector<TrainingStep> run_scenario(World& world, Scenario& scenario,
                                       const std::vector<Method>& ways,
                                       const StepProtocol& protocol);

}  // namespace tutti
