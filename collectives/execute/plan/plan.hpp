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

/// When this rank had done a step of a schedule, by now_ns().
struct StepEnd {
    int step;
    std::int64_t ns;
    std::int64_t ready_ns = 0;  ///< when all that it waits for was there: its moves came after
};

/// Something that all ranks do together and that can be timed: a plan of ours or a library's call.
class Operation {
public:
    virtual ~Operation() = default;
    // Either run() is overridden, by operations that can only block, or start(), test() and wait().
    /// Once, to the end. Throws Error only if the run is over: a time-out, a lost rank.
    virtual void run() {
        start();
        wait();
    }
    /// Begins a run; test() moves it on, wait() ends it.
    virtual void start() { run(); }
    /// Moves it a little; true once it is done.
    virtual bool test() { return true; }
    virtual void wait() {}
    /// Whether it is done, for callers that have just moved all operations: a plan does not move
    /// itself here.
    virtual bool is_done() { return test(); }
    /// Steps done in this run; always 0 where that cannot be seen.
    virtual std::size_t progress_count() const { return 0; }
    /// From the next run on, adds the end of each step that this rank does to `ends`; nullptr: no
    /// more. Nothing is added where steps cannot be seen: in a library's call, on a device.
    virtual void note_step_ends(std::vector<StepEnd>*) {}
    /// What this rank does in each step of the schedule, by number: "add from rank 1, 64K". None
    /// where steps cannot be seen.
    virtual std::vector<std::string> steps_in_words() const { return {}; }
    /// Error message for a run that takes too long: who waits, in which step, for whom.
    virtual std::string hang_report() const { return "a collective of the library does not end"; }
    /// Whether rebind() can be used. Not where peers know the addresses.
    virtual bool rebinds() const { return false; }
    /// From the next run on for other buffers: of the same sizes, and in place if the first were.
    /// Each rank does so by itself; not while running. The same buffers again cost a comparison.
    virtual void rebind(const CallBuffers& buffers);
    /// What the last run took on the device that it ran on, by that device's clock.
    virtual std::optional<std::int64_t> device_ns() const { return std::nullopt; }
    /// Something is left that should not be (a message never received), in words.
    virtual std::optional<std::string> left_over() const { return std::nullopt; }
};

/// Polls until the operation is done; false if it is not within the world's hang timeout.
bool ends_in_time(World& world, Operation& operation);

/// "rank 3 waited 30 s in <what>": how a hang_report() begins.
std::string waited_in(const World& world, Rank rank, const std::string& what);

class Plan;
struct PlanRequest;

/// The plans of one rank that are under way. Whoever waits for one moves all of them.
class Progress {
public:
    explicit Progress(World& world) : world_(world) {}

    World& world() { return world_; }
    /// Moves every plan as far as it goes; true if any made progress.
    bool poll();
    bool is_idle() const { return active_.empty(); }
    /// Waits for all of them; throws as Plan::wait() does.
    void finish_all();
    /// None of them will end: to be called before an error is thrown.
    void give_up_all();
    /// As the world's, after giving up.
    void throw_if_lost();

private:
    friend class Plan;
    World& world_;
    std::vector<Plan*> active_;
    std::size_t plans_ = 0;  // that exist, and so may be active at once
};

/// One rank's part of a collective, compiled for given buffers, count, type, operation and
/// transport. Built once (collectively), run many times; running allocates nothing. Buffers belong
/// to the plan from start() until it is done.
class Plan : public Operation {
public:
    Plan(Progress& progress, const PlanRequest& request);
    ~Plan() override;
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    void start() override;
    /// Moves everything under way a little; true once this plan is done.
    bool test() override;
    /// Throws Error (time_out) naming rank, collective, algorithm, step and peer when no step of
    /// any plan under way has ended for too long.
    void wait() override;

    bool is_done() override { return done_; }
    std::size_t progress_count() const override { return at_; }
    void note_step_ends(std::vector<StepEnd>* ends) override { step_ends_ = ends; }
    std::vector<std::string> steps_in_words() const override;
    /// "rank 3 waited 30 s in all_reduce ring (shm), step 2 of 6, for rank 2".
    std::string hang_report() const override;

    const std::string& what() const { return what_; }

protected:
    /// What a plan waits for, for the report of a hang.
    struct ProgressState {
        int step = 0;
        std::optional<Rank> waits_for = {};
        std::vector<Rank> one_of = {};  ///< it waits for one of these, where no more is known
    };

    static constexpr std::int64_t longest_sleep_ns = 200'000;

    World& world() const { return progress_.world(); }

    /// hang_report() of any rank.
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
    friend class TriedPlan;  // moves the plans that it is made of itself

    virtual void begin() = 0;
    /// Goes on as far as possible without waiting; true at the end.
    virtual bool advance() = 0;
    virtual ProgressState progress_state() const = 0;
    /// The plan will not end: stops what a device or library still does for it.
    virtual void give_up() {}
    /// Sleeps until there may be something to do, for at most longest_sleep_ns, as other plans may
    /// be under way. By default it yields: most transports make progress only while they are
    /// polled.
    virtual void sleep();

    Progress& progress_;
    // What each call looks at comes first, near at_.
    bool done_ = true;
    std::vector<StepEnd>* step_ends_ = nullptr;
    std::int64_t ready_ns_ = 0;  // of the step that ends next, where ends are noted
    std::string what_;
    Schedule schedule_;
    Call call_;
};

}  // namespace tutti
