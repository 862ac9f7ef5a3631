// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/plan/tried_plan.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "base/index.hpp"
#include "collectives/execute/plan/plan_choice.hpp"
#include "collectives/world/signal.hpp"

namespace tutti {

class TriedPlan final : public Plan {
public:
    TriedPlan(Progress& progress, const PlanRequest& request,
              std::vector<std::unique_ptr<Plan>> plans, SharedPlanMemory& memory)
        : Plan(progress, request),
          plans_(std::move(plans)),
          choice_(int_size(plans_), 1 + request.runs_ahead),
          all_times_(as_size(world().size())) {
        assert(plans_.size() <= PlanChoice::most_plans);
        memory.ask(sizeof(Report), [this](auto shared) { memory_ = std::move(shared); });
    }

    // While steps are watched, only one plan runs.
    void note_step_ends(std::vector<StepEnd>* ends) override {
        is_watched_ = ends != nullptr;
        for (const auto& one : plans_) one->note_step_ends(ends);
    }
    const Schedule& schedule() const override { return at(plans_, choice_.best())->schedule(); }
    std::vector<std::string> describe_steps() const override {
        return at(plans_, choice_.best())->describe_steps();
    }

    std::optional<std::string> left_over() const override {
        for (const auto& one : plans_)
            if (auto left = one->left_over()) return left;
        return std::nullopt;
    }

private:
    // The times that a rank publishes. Trials use the two halves in turn, because a slower rank may
    // still read the times of the last trial.
    struct Report {
        alignas(cache_line) std::uint64_t trials = 0;
        std::array<PlanChoice::Times, 2> times;
    };

    Report& report_of(Rank rank) const {
        return *reinterpret_cast<Report*>(memory_->of(rank).data());
    }
    int number() const { return is_watched_ ? choice_.best() : choice_.current(); }
    Plan& current() const { return *at(plans_, number()); }

    // A plan is bound when it runs.
    void adapt() override { ++bindings_; }

    void begin() override {
        is_agreeing_ = choice_.must_agree() && !is_watched_;
        if (!is_agreeing_) return begin_current();
        Report& mine = report_of(world().rank());
        mine.times[++trials_ % 2] = choice_.times();
        publish(mine.trials, trials_);
    }

    void begin_current() {
        Plan& plan = current();
        if (std::exchange(at(bound_, number()), bindings_) != bindings_)
            plan.take(call(), caller());
        is_timed_ = choice_.is_trial() && !is_watched_;
        if (is_timed_) began_ns_ = now_ns();
        plan.at_ = 0;
        plan.begin();
    }

    bool advance() override {
        if (is_agreeing_) {
            if (first_missing()) return false;
            for (const Rank rank : all_ranks(world().size()))
                at(all_times_, rank) = report_of(rank).times[trials_ % 2];
            choice_.agree(all_times_);
            is_agreeing_ = false;
            begin_current();
        }
        const bool is_done = current().advance();
        at_ = current().at_;
        if (!is_done || is_watched_) return is_done;
        if (is_timed_)
            choice_.record(now_ns() - began_ns_, total_bytes(call(), world().size()));
        else
            choice_.record(0, 0);
        return true;
    }

    std::optional<Rank> first_missing() const {
        for (const Rank rank : all_ranks(world().size()))
            if (seen(report_of(rank).trials) < trials_) return rank;
        return std::nullopt;
    }

    void sleep() override { is_agreeing_ ? Plan::sleep() : current().sleep(); }

    ProgressState progress_state() const override {
        if (!is_agreeing_) return current().progress_state();
        return {.waits_for = first_missing(), .is_behind = true};
    }

    void give_up() override { current().give_up(); }

    std::vector<std::unique_ptr<Plan>> plans_;
    PlanChoice choice_;
    std::unique_ptr<ReachableMemory> memory_;
    std::vector<PlanChoice::Times> all_times_;
    std::uint64_t trials_ = 0;
    bool is_agreeing_ = false;
    bool is_watched_ = false;  // equal on all ranks, so that they count the same runs
    bool is_timed_ = false;    // whether the run belongs to a trial
    std::int64_t began_ns_ = 0;
    std::uint64_t bindings_ = 0;                                 // calls and buffers so far
    std::array<std::uint64_t, PlanChoice::most_plans> bound_{};  // the last of each plan
};

std::unique_ptr<Plan> tried_plan(Progress& progress, const PlanRequest& request,
                                 std::vector<std::unique_ptr<Plan>> plans,
                                 SharedPlanMemory& memory) {
    return std::make_unique<TriedPlan>(progress, request, std::move(plans), memory);
}

}  // namespace tutti
