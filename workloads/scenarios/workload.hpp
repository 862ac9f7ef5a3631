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

/// Ranks and options that a workload runs with. Outlives the objects made with it.
struct WorkloadEnvironment {
    Planner& planner;
    ComputeMode compute = ComputeMode::sleep;
    std::optional<BufferKind> buffers = {};  ///< default: registered if the ranks can share memory
    std::vector<std::string> transports = {};  ///< selected transports: see device_buffers()
    GlobalClock* clock = nullptr;
    std::uint64_t seed = 1;
    std::span<const Method> named =
        {};          ///< the user's methods, for workloads that measure before they begin
    Skew skew = {};  ///< for programs; ignored by scenarios without a compute mode
};

/// Steps of a scenario by one method. All calls are collective.
class Steps {
public:
    virtual ~Steps() = default;
    virtual StepStamps run(StepPart part, std::int64_t number) = 0;
    /// Returns this rank's wrong elements after calls with known results; none if nothing can be
    /// checked. Called once, before anything is timed.
    virtual std::optional<std::int64_t> count_wrong() { return std::nullopt; }
    /// Returns results that only this workload has. Called after the last step.
    virtual std::vector<Metric> metrics() { return {}; }
};

/// A workload for given ranks and settings. All calls are collective.
class Scenario {
public:
    virtual ~Scenario() = default;
    /// Returns the name of the model, network or trace.
    virtual std::string model() const = 0;
    /// Returns whether the compute mode applies; false if real networks are trained.
    virtual bool has_compute_mode() const { return true; }
    /// Returns lines to print before the table: sizes, bounds, formulas.
    virtual std::vector<std::string> notes() const { return {}; }
    /// Return the bytes that the busiest rank passes to collectives in a step, and the number of
    /// calls.
    virtual std::int64_t bytes_of_step() const = 0;
    virtual std::int64_t calls_of_step() const = 0;
    /// Returns the methods to compare; by default those that the user selected.
    virtual std::vector<Method> methods(std::vector<Method> named) const { return named; }
    /// Returns the steps of this method, or the reason why it cannot run.
    virtual MadeOrRefused<Steps> steps(const Method& method) = 0;
};

/// A row of the table of workloads.
struct Workload {
    std::string_view name;
    std::string_view what;  ///< one sentence
    std::span<const SettingRow> settings;
    /// Throws Error for wrong settings before any rank starts. Null if any text is valid.
    void (*check)(const Settings&);
    std::unique_ptr<Scenario> (*make)(const Settings&, const WorkloadEnvironment&);
};

/// Returns all workloads.
std::span<const Workload> workloads();

/// Throws Error naming the known ones if there is no such workload.
const Workload& find_workload(std::string_view name);

/// Measures a scenario by all methods that can do it, alternating. Results are in the order of the
/// methods, like `protocol.earlier` and the argument of `protocol.so_far`; their keys lack workload
/// and settings. Collective; the same on all ranks except samples of an earlier run.
std::vector<TrainingStep> run_scenario(World& world, Scenario& scenario,
                                       const std::vector<Method>& methods,
                                       const StepProtocol& protocol);

}  // namespace tutti
