// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/name_table.hpp"
#include "workloads/program/program.hpp"
#include "workloads/steps/compression_error.hpp"
#include "workloads/steps/method.hpp"
#include "workloads/steps/step_times.hpp"

namespace tutti {

/// How a rank's computing is simulated. Times of different modes must not be compared.
enum class ComputeMode : std::uint8_t {
    sleep,  ///< an accelerator computes: the rank's core is free to communicate
    burn,   ///< the core computes, out of its registers
    real    ///< the core multiplies matrices, through its caches
};
template <>
struct NamesOf<ComputeMode> {
    static constexpr const char* kind = "compute mode";
    static constexpr Named<ComputeMode> rows[] = {
        {ComputeMode::sleep, "sleep"}, {ComputeMode::burn, "burn"}, {ComputeMode::real, "real"}};
};

/// Computes for given times. A busy core does a fixed amount of work, so time that communication
/// takes from it is visible.
class Computer {
public:
    virtual ~Computer() = default;

    /// Computing cannot begin before now: a step begins, or a collective that was waited for has
    /// ended.
    virtual void release() {}

    /// Computes what takes `ns` on an idle machine, and returns the time that it took. `meanwhile`
    /// progresses collectives and returns whether any is under way. It is called continuously if
    /// the core is free, else once at the end, like a framework's gradient hooks. An accelerator
    /// runs concurrently with its host, so its time counts from the end of its previous computing.
    virtual std::int64_t compute(std::int64_t ns, const std::function<bool()>& meanwhile) = 0;
};

enum class CoreUse : std::uint8_t { own, shared };

/// Calibrates for about 20 ms except for `sleep`. A core shared with other ranks is yielded while
/// there is nothing to do.
std::unique_ptr<Computer> computer(ComputeMode mode, CoreUse core);

/// The groups of a program that this rank is in, with their planners, and the memory of the calls,
/// which all methods share.
class ProgramBuffers {
public:
    /// Collective; `program` outlives it and has been checked for these ranks. Throws Error if
    /// memory does not suffice. `transports`: as for device_buffers().
    ProgramBuffers(Planner& all, const Program& program, std::optional<BufferKind> buffers,
                   const std::vector<std::string>& transports = {});

    /// A group that this rank is in.
    struct Group {
        std::unique_ptr<World> world;      // null: all ranks, in their order
        std::unique_ptr<Planner> planner;  // see above
        Planner* plans = nullptr;          // never null
        Environment environment;
    };

    World& world() const { return all_.world(); }
    const Program& program() const { return program_; }
    /// Returns null if this rank is not in it.
    const Group* group_of(int call) const;
    /// Return the buffers of a call that this rank takes part in; the second in a step in which the
    /// call differs.
    PooledBuffers buffers_of(int call) const;
    PooledBuffers buffers_of(int call, const Call& in_step) const;

private:
    bool is_all(const std::vector<Rank>& group) const;
    int memory_key(int call) const;
    std::map<int, std::size_t> bytes_of_memory() const;

    Planner& all_;
    const Program& program_;
    std::vector<std::optional<Group>> groups_;
    std::vector<std::shared_ptr<BufferPool>> memory_;  // by call
};

/// Runs one rank's tasks of a program by one method.
class StepRunner final : private Progressable {
public:
    ~StepRunner();
    StepRunner(const StepRunner&) = delete;
    StepRunner& operator=(const StepRunner&) = delete;

    /// Returns the reason if the method cannot do this program here. Collective.
    static MadeOrRefused<StepRunner> make(ProgramBuffers& buffers, const Method& method);

    /// Runs a step. Step `number` takes its times from the program. Throws Error (time_out) naming
    /// the call it waited for. Collective, without a barrier.
    StepStamps run(StepPart part, std::int64_t number, Computer& computer);
    /// Does the same with other tasks of this rank, which make the same calls in the same order.
    StepStamps run(StepPart part, std::int64_t number, Computer& computer,
                   std::span<const Task> tasks);

    /// Does every call once with known data and counts this rank's wrong elements. Returns none, on
    /// all ranks, for a method that compresses: metrics() then has the error of its largest call.
    /// Called once, before any step. Collective.
    std::optional<std::int64_t> count_wrong(std::uint64_t seed);

    /// Returns the statistics of compression in the steps so far; none without compression.
    /// Collective.
    std::vector<Metric> metrics();

private:
    explicit StepRunner(ProgramBuffers& buffers);
    std::optional<std::string> choose(const Method& method);
    bool has_any_algorithm() const;
    bool is_all_exact() const;
    std::int64_t compute(std::int64_t ns, Computer& computer);
    void start(int call, std::int64_t number);
    void wait(int call);
    bool progress_all();
    void make_progress() override { progress_all(); }
    GroupMethod& method_of(int call) const;
    Trial checked(int call) const;
    std::int64_t count_wrong_concurrently(std::uint64_t seed);
    std::int64_t count_wrong_of(int call, std::uint64_t seed);
    void measure_error(std::uint64_t seed);

    ProgramBuffers& buffers_;
    const std::vector<Task>& tasks_;
    // By group of the program; null: this rank is not in it
    std::vector<std::unique_ptr<GroupMethod>> of_group_;
    std::vector<std::unique_ptr<Operation>> operations_;  // by call; null: takes no part
    // By call and step, as in GroupCall::of_steps
    std::vector<std::vector<PooledBuffers>> buffers_of_steps_;
    std::vector<int> under_way_;          // calls
    std::vector<int> progressed_groups_;  // in one round of progress
    bool made_progress_ = false;          // since it was last read
    StepStamps stamps_;
    bool compresses_ = false;  // whether any rank compresses any call; the same on all
    CompressionError error_;
    std::int64_t steps_ = 0;  // steps with communication
};

}  // namespace tutti
