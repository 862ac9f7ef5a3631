// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "collectives/execute/plan/caller_memory.hpp"
#include "collectives/execute/plan/layout.hpp"
#include "collectives/schedule/schedule.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// The time, by now_ns(), at which this rank finished a step of a schedule.
struct StepEnd {
    int step;
    std::int64_t ns;
    std::int64_t ready_ns = 0;  ///< when all its inputs had arrived, before its moves
};

class Plan;

/// A timed operation of all ranks together: a plan of tutti or a call of a library.
class Operation {
public:
    virtual ~Operation() = default;
    // Either run() is overridden, by operations that can only block, or start(), test() and wait().
    /// Runs once, to the end. Throws Error only if the run is over: a timeout, a lost rank.
    virtual void run() {
        start();
        wait();
    }
    /// Starts a run; test() advances it, wait() ends it.
    virtual void start() { run(); }
    /// Advances it a little; returns true once it is done.
    virtual bool test() { return true; }
    virtual void wait() {}
    /// Returns null for a call of a library.
    virtual Plan* as_plan() { return nullptr; }
    /// Whether it is done, for callers that have just advanced all operations: a plan does not
    /// advance here.
    virtual bool is_done() { return test(); }
    /// Returns the steps done in this run; always 0 if they are not visible.
    virtual std::size_t progress_count() const { return 0; }
    /// From the next run on, appends the end of each step of this rank to `ends`; nullptr stops
    /// that. Appends nothing if steps are not visible: in a library's call, on a device.
    virtual void note_step_ends(std::vector<StepEnd>*) {}
    /// Describes this rank's work in each step of the schedule, by number: "add from rank 1, 64K".
    /// Empty if steps are not visible.
    virtual std::vector<std::string> describe_steps() const { return {}; }
    /// Returns the error message for a run that takes too long: which rank waits, in which step,
    /// for which peer.
    virtual std::string hang_report() const { return "collective of the MPI library timed out"; }
    /// Uses this call and these buffers from the next run on. The collective and the root are those
    /// of the operation, and the buffers are in place if its first ones were. Local to each rank;
    /// not allowed during a run. The same call again costs a comparison. Throws Error if the
    /// operation does not fit the call.
    virtual void bind(const Call& call, const CallBuffers& buffers);
    /// Returns the duration of the last run on its device, by that device's clock.
    virtual std::optional<std::int64_t> device_ns() const { return std::nullopt; }
    /// Describes leftovers that should not exist, such as a message that was never received.
    virtual std::optional<std::string> left_over() const { return std::nullopt; }
};

/// Polls until the operation is done; returns false if the world's hang timeout passes first.
bool ends_in_time(World& world, Operation& operation);

/// Returns the beginning of a hang_report(): "rank 3 waited 30 s in <what>".
std::string waited_in(const World& world, Rank rank, const std::string& what);

struct PlanRequest;

/// The plans of one rank that are running. A wait for one of them advances all.
class Progress {
public:
    explicit Progress(World& world) : world_(world) {}

    World& world() { return world_; }
    /// Advances every plan as far as possible; returns true if any made progress.
    bool poll();
    bool is_idle() const { return active_.empty(); }
    /// Waits for all of them; throws as Plan::wait() does.
    void finish_all();
    /// Stops all of them, because they will not end; called before an error is thrown.
    void give_up_all();
    /// Calls World::throw_if_lost(), after giving up all plans if it throws.
    void throw_if_lost();

private:
    friend class Plan;
    World& world_;
    std::vector<Plan*> active_;
    std::size_t plans_ = 0;  // existing plans, which may all be active at once
};

/// One rank's part of a collective. It is compiled once (collectively) for an algorithm, a root, a
/// transport and a largest block, and run many times: each run may bind another count, type,
/// operation and other buffers. Running allocates nothing. Buffers belong to the plan from start()
/// until it is done.
class Plan : public Operation {
public:
    Plan(Progress& progress, const PlanRequest& request);
    ~Plan() override;
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    void bind(const Call& call, const CallBuffers& buffers) override;
    /// Does start() and wait(), without registering the plan if it ends at once.
    void run() override;
    void start() override;
    /// Advances all running plans a little; returns true once this plan is done.
    bool test() override;
    /// Waits until the plan is done. Throws Error (time_out) that names rank, collective,
    /// algorithm, step and peer if no step of any running plan has ended for too long.
    void wait() override;

    Plan* as_plan() override { return this; }
    bool is_done() override { return done_; }
    std::size_t progress_count() const override { return at_; }
    void note_step_ends(std::vector<StepEnd>* ends) override { step_ends_ = ends; }
    std::vector<std::string> describe_steps() const override;
    /// Returns e.g. "rank 3 waited 30 s in all_reduce ring (shm), step 2 of 6, for rank 2".
    std::string hang_report() const override;

    const std::string& what() const { return what_; }
    /// The schedule that it runs, with the pieces in which it copies.
    virtual const Schedule& schedule() const { return schedule_; }

protected:
    /// The step and peer that a plan waits for, for the report of a hang.
    struct ProgressState {
        int step = 0;
        std::optional<Rank> waits_for = {};
        std::string_view way = {};  ///< to that rank, if ranks are reached in several ways
        /// That rank has not begun this run: it is in another call, or in none.
        bool is_behind = false;
        std::vector<Rank> one_of = {};  ///< it waits for one of these, if that is all that is known
    };

    static constexpr std::int64_t longest_sleep_ns = 200'000;

    World& world() const { return progress_.world(); }
    /// The call and the buffers of the next run.
    const Call& call() const { return call_; }
    const CallerMemory& caller() const { return caller_; }
    bool is_in_place() const { return in_place_; }

    /// Returns the hang_report() of any rank.
    std::string hang_report_of(Rank rank, const ProgressState& state) const;

    void step_is_ready() {
        if (step_ends_ != nullptr) ready_ns_ = now_ns();
    }
    void step_has_ended(int step) {
        if (step_ends_ != nullptr) step_ends_->push_back({step, now_ns(), ready_ns_});
    }

    // Index of the current step among those of this rank, from 0 at each start.
    std::size_t at_ = 0;

private:
    friend class Progress;
    friend class TriedPlan;  // binds and advances the plans that it consists of itself

    Plan(Progress& progress, const PlanRequest& request, const CollectiveSpec& spec);

    /// Adapts to call() and caller(), which have changed.
    virtual void adapt() = 0;
    // `block`: bytes of the call's block.
    void expect_to_serve(const Call& call, std::size_t block) const;
    bool have_sizes(const CallBuffers& buffers, const Call& call, std::size_t block) const;
    void begin_run();
    // Uses a call and buffers that fit.
    void take(const Call& call, const CallerMemory& caller);
    virtual void begin() = 0;
    /// Advances as far as possible without waiting; returns true at the end.
    virtual bool advance() = 0;
    virtual ProgressState progress_state() const = 0;
    /// Stops the work that a device or library still does for the plan, which will not end.
    virtual void give_up() {}
    /// Sleeps until there may be work, for at most longest_sleep_ns, because other plans may be
    /// running. By default it yields: most transports make progress only while they are polled.
    virtual void sleep();

    Progress& progress_;
    // Members that each call reads come first, near at_.
    bool done_ = true;
    std::vector<StepEnd>* step_ends_ = nullptr;
    std::int64_t ready_ns_ = 0;  // when the next step was ready, if ends are recorded
    std::string what_;
    Schedule schedule_;
    std::size_t most_bytes_of_block_;
    std::int64_t blocks_;  // all blocks of the collective
    std::size_t input_blocks_, output_blocks_;
    bool in_place_;
    bool is_bound_ = false;
    Call call_;
    BlockLengths lengths_;  // lengths of the call's blocks, if they differ
    CallerMemory caller_;
};

}  // namespace tutti
