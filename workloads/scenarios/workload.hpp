// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/program/changed_program.hpp"
#include "workloads/program/settings.hpp"
#include "workloads/steps/measure_steps.hpp"

namespace tutti {

/// What a workload runs on. Outlives what is made with it.
struct WorkloadEnvironment {
    Planner& planner;
    ComputeMode compute = ComputeMode::sleep;
    std::optional<BufferKind> buffers = {};  ///< none: registered where the ranks can share memory
    std::vector<std::string> transports = {};  ///< that take part: see device_buffers()
    GlobalClock* clock = nullptr;
    std::uint64_t seed = 1;
    std::span<const Method> named =
        {};          ///< the user's methods, for workloads that measure before they begin
    Skew skew = {};  ///< of programs; ignored by scenarios without a compute mode
};

/// Steps of a scenario by one method. All calls are collective.
class Steps {
public:
    virtual ~Steps() = default;
    virtual StepStamps run(StepPart part, std::int64_t number) = 0;
    /// This rank's wrong elements after calls with known results; none if nothing can be checked.
    /// Called once, before anything is timed.
    virtual std::optional<std::int64_t> count_wrong() { return std::nullopt; }
    /// Results that only this workload has. Called after the last step.
    virtual std::vector<Metric> metrics() { return {}; }
};

/// A workload, made for these ranks and settings. All calls are collective.
class Scenario {
public:
    virtual ~Scenario() = default;
    /// The model's, the network's or the trace's name.
    virtual std::string model() const = 0;
    /// Whether the compute mode applies; not where real networks are trained.
    virtual bool has_compute_mode() const { return true; }
    /// Lines that are printed before the table: sizes, bounds, formulas.
    virtual std::vector<std::string> notes() const { return {}; }
    /// Bytes that the busiest rank passes to collectives in a step, and in how many calls.
    virtual std::int64_t bytes_of_step() const = 0;
    virtual std::int64_t calls_of_step() const = 0;
    /// The methods to compare; by default the ones that the user names.
    virtual std::vector<Method> methods(std::vector<Method> named) const { return named; }
    /// Refused if it cannot be done by this method.
    virtual MadeOrRefused<Steps> steps(const Method& method) = 0;
};

/// A row of the table of workloads.
struct Workload {
    std::string_view name;
    std::string_view what;  ///< one sentence
    std::span<const SettingRow> settings;
    /// Throws Error for wrong settings before any rank starts. May be null where any text will do.
    void (*check)(const Settings&);
    std::unique_ptr<Scenario> (*make)(const Settings&, const WorkloadEnvironment&);
};

/// The one place where workloads are listed.
std::span<const Workload> workloads();

/// Throws Error naming the known ones if there is no such workload.
const Workload& find_workload(std::string_view name);

/// Measures a scenario by all methods that can do it, alternating. Results in the order of the
/// methods, as are `protocol.earlier` and what `protocol.so_far` is given; of their keys workload
/// and settings are left out. Collective; the same on all ranks but for samples of an earlier run.
std::vector<TrainingStep> run_scenario(World& world, Scenario& scenario,
                                       const std::vector<Method>& methods,
                                       const StepProtocol& protocol);

}  // namespace tutti
