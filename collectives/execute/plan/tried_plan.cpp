// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/plan/tried_plan.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "base/index.hpp"
#include "collectives/execute/plan/plan_choice.hpp"
#include "collectives/world/shared_memory.hpp"
#include "collectives/world/signal.hpp"

namespace tutti {

class TriedPlan final : public Plan {
public:
    TriedPlan(Progress& progress, const PlanRequest& request,
              std::vector<std::unique_ptr<Plan>> plans, int guess)
        : Plan(progress, request),
          plans_(std::move(plans)),
          choice_(int_size(plans_), guess),
          buffers_(request.buffers),
          memory_(world(), sizeof(Told)),
          all_times_(as_size(world().size())) {
        assert(plans_.size() <= PlanChoice::most_plans);
    }

    bool rebinds() const override {
        return std::ranges::all_of(plans_, [](const auto& one) { return one->rebinds(); });
    }

    // The other plans are rebound when their turn comes.
    void rebind(const CallBuffers& buffers) override {
        current().rebind(buffers);  // refuses what does not fit
        buffers_ = buffers;
    }

    // Steps are recorded only while one fixed plan runs.
    void note_step_ends(std::vector<StepEnd>* ends) override {
        is_watched_ = ends != nullptr;
        for (const auto& one : plans_) one->note_step_ends(ends);
    }
    std::vector<std::string> steps_in_words() const override {
        return at(plans_, choice_.best())->steps_in_words();
    }

    std::optional<std::string> left_over() const override {
        for (const auto& one : plans_)
            if (auto left = one->left_over()) return left;
        return std::nullopt;
    }

private:
    // A rank's times as published to the others: alternating between two halves, because a slower
    // rank may still read the times of the previous trial.
    struct Told {
        alignas(cache_line) std::uint64_t trials = 0;
        std::array<PlanChoice::Times, 2> times;
    };

    Told& told_by(Rank rank) const { return *reinterpret_cast<Told*>(memory_.of(rank).data()); }
    Plan& current() const { return *at(plans_, is_watched_ ? choice_.best() : choice_.current()); }

    void begin() override {
        is_agreeing_ = choice_.must_agree() && !is_watched_;
        if (!is_agreeing_) return begin_current();
        Told& mine = told_by(world().rank());
        mine.times[++trials_ % 2] = choice_.times();
        publish(mine.trials, trials_);
    }

    void begin_current() {
        began_ns_ = now_ns();
        current().rebind(buffers_);
        current().at_ = 0;
        current().begin();
    }

    bool advance() override {
        if (is_agreeing_) {
            if (first_silent()) return false;
            for (const Rank rank : all_ranks(world().size()))
                at(all_times_, rank) = told_by(rank).times[trials_ % 2];
            choice_.agree(all_times_);
            is_agreeing_ = false;
            begin_current();
        }
        const bool is_done = current().advance();
        at_ = current().at_;
        if (is_done && !is_watched_) choice_.took(now_ns() - began_ns_);
        return is_done;
    }

    std::optional<Rank> first_silent() const {
        for (const Rank rank : all_ranks(world().size()))
            if (seen(told_by(rank).trials) < trials_) return rank;
        return std::nullopt;
    }

    void sleep() override { is_agreeing_ ? Plan::sleep() : current().sleep(); }

    ProgressState progress_state() const override {
        if (!is_agreeing_) return current().progress_state();
        return {.waits_for = first_silent()};
    }

    void give_up() override { current().give_up(); }

    std::vector<std::unique_ptr<Plan>> plans_;
    PlanChoice choice_;
    CallBuffers buffers_;
    SharedMemory memory_;
    std::vector<PlanChoice::Times> all_times_;
    std::uint64_t trials_ = 0;
    bool is_agreeing_ = false;
    bool is_watched_ = false;  // same on all ranks, so that they count the same runs
    std::int64_t began_ns_ = 0;
};

std::unique_ptr<Plan> tried_plan(Progress& progress, const PlanRequest& request,
                                 std::vector<std::unique_ptr<Plan>> plans, int guess) {
    return std::make_unique<TriedPlan>(progress, request, std::move(plans), guess);
}

}  // namespace tutti
