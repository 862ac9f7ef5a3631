// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/program/program.hpp"
#include "workloads/steps/computing.hpp"
#include "workloads/steps/loss.hpp"
#include "workloads/steps/method.hpp"
#include "workloads/steps/step_times.hpp"

namespace tutti {

/// What of a step is done.
enum class StepPart : std::uint8_t { whole, compute, communication };

/// The groups of a program, of which this rank is in some: their ranks, what makes their plans, and
/// the memory of the calls, which all ways use in turn.
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

/// One rank's part of a program, done in one way.
class StepRunner final : private Progressable {
public:
    ~StepRunner();
    StepRunner(const StepRunner&) = delete;
    StepRunner& operator=(const StepRunner&) = delete;

    /// Collective. Nothing if the way cannot do this program here; `reason` then says why.
    static std::unique_ptr<StepRunner> make(ProgramBuffers& stage, const Method& way,
                                            std::string& reason);

    /// Collective, but nobody meets: ranks that have met before start together. Step `number` takes
    /// its times from the program. Throws Error (time_out) naming what it waited for.
    StepStamps run(StepPart part, std::int64_t number, Computer& computer);
    /// The same with other tasks of this rank, about the same calls in the same order.
    StepStamps run(StepPart part, std::int64_t number, Computer& computer,
                   std::span<const Task> tasks);

    /// Does every call once with data whose result is known, and counts the elements of this rank
    /// that are wrong. A way that compresses has no such results: nothing then, on all ranks, and
    /// what its largest call loses is told by metrics(). Once, before any step. Collective.
    std::optional<std::int64_t> count_wrong(std::uint64_t seed);

    /// What the way alone tells of the steps so far. Collective.
    std::vector<Metric> metrics();

private:
    explicit StepRunner(ProgramBuffers& stage);
    std::optional<std::string> choose(const Method& way);
    bool has_any_of_its_own() const;
    bool does_all_exactly() const;
    std::int64_t compute(std::int64_t ns, Computer& computer);
    void start(int call);
    void wait(int call);
    bool move_all();
    void make_progress() override { move_all(); }
    GroupMethod& way_of(int call) const;
    Trial checked(int call) const;
    std::int64_t count_wrong_together(std::uint64_t seed);
    std::int64_t count_wrong_alone(int call, std::uint64_t seed);
    void see_loss(std::uint64_t seed);

    ProgramBuffers& stage_;
    const std::vector<Task>& tasks_;
    std::vector<std::unique_ptr<GroupMethod>> of_group_;  // of the program; none: not in it
    std::vector<std::unique_ptr<Operation>> operations_;  // by call; none: takes no part
    std::vector<int> under_way_;                          // calls
    std::vector<int> moved_groups_;                       // in one look
    bool went_on_ = false;                                // anything, since it was last asked
    StepStamps stamps_;
    bool compresses_ = false;  // some rank in some call; the same on all
    Loss loss_;
    std::int64_t steps_ = 0;  // in which there was communication
};

}  // namespace tutti
