// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/program/program.hpp"
#include "workloads/steps/compression_error.hpp"
#include "workloads/steps/computing.hpp"
#include "workloads/steps/method.hpp"
#include "workloads/steps/step_times.hpp"

namespace tutti {

/// The groups of a program that this rank is in, with their planners, and the memory of the calls,
/// which all methods share.
class ProgramBuffers {
public:
    /// Collective; `program` outlives it and has been checked for these ranks. Throws Error where
    /// memory does not suffice. `transports`: as for device_buffers().
    ProgramBuffers(Planner& all, const Program& program, std::optional<BufferKind> buffers,
                   const std::vector<std::string>& transports = {});

    /// Of a group that this rank is in.
    struct Group {
        std::unique_ptr<World> world;      // none: all ranks, in their order
        std::unique_ptr<Planner> planner;  // as above
        Planner* plans = nullptr;          // never null
        Environment environment;
    };

    World& world() const { return all_.world(); }
    const Program& program() const { return program_; }
    /// Null if this rank is not in it.
    const Group* group_of(int call) const;
    /// Of a call that this rank takes part in.
    PooledBuffers buffers_of(int call) const;

private:
    bool is_all(const std::vector<Rank>& group) const;
    std::size_t bytes_of_memory() const;

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

    /// Collective. Refused if the method cannot do this program here.
    static MadeOrRefused<StepRunner> make(ProgramBuffers& buffers, const Method& method);

    /// Collective, without a barrier. Step `number` takes its times from the program. Throws Error
    /// (time_out) naming what it waited for.
    StepStamps run(StepPart part, std::int64_t number, Computer& computer);
    /// The same with other tasks of this rank, about the same calls in the same order.
    StepStamps run(StepPart part, std::int64_t number, Computer& computer,
                   std::span<const Task> tasks);

    /// Does every call once with known data and counts this rank's wrong elements. Nothing, on all
    /// ranks, for a method that compresses: metrics() then has the error of its largest call. Once,
    /// before any step. Collective.
    std::optional<std::int64_t> count_wrong(std::uint64_t seed);

    /// What compression did in the steps so far; else nothing. Collective.
    std::vector<Metric> metrics();

private:
    explicit StepRunner(ProgramBuffers& buffers);
    std::optional<std::string> choose(const Method& method);
    bool has_any_algorithm() const;
    bool is_all_exact() const;
    std::int64_t compute(std::int64_t ns, Computer& computer);
    void start(int call);
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
    std::vector<std::unique_ptr<GroupMethod>> of_group_;  // of the program; none: not in it
    std::vector<std::unique_ptr<Operation>> operations_;  // by call; none: takes no part
    std::vector<int> under_way_;                          // calls
    std::vector<int> progressed_groups_;                  // in one round of progress
    bool made_progress_ = false;                          // since it was last read
    StepStamps stamps_;
    bool compresses_ = false;  // some rank in some call; the same on all
    CompressionError error_;
    std::int64_t steps_ = 0;  // in which there was communication
};

}  // namespace tutti
