// SPDX-License-Identifier: Apache-2.0
// Calls of a communicator that learns while the program runs.
#include "base/clock.hpp"
#include "base/index.hpp"
#include "library/communicator_state.hpp"

namespace tutti {
namespace {

double since(std::int64_t began_ns) { return static_cast<double>(now_ns() - began_ns); }

}  // namespace

// Learning begins with the configuration, and the plan, that the call would have without learning.
Learner::Point& Communicator::State::point_of(const CallKey& key, const CallArguments& call) {
    if (Learner::Point* known = learner->find(key)) return *known;
    plan_for(key, call);
    auto plan = calls.extract(key);
    plan.key().arm = 0;
    plan.mapped().is_as_requested = true;
    Learner::Point& point = learner->begin(key, plan.mapped().configuration);
    calls.insert(std::move(plan));
    return point;
}

RecentCall Communicator::State::run_and_learn(CallKey key, const CallArguments& call) {
    Learner::Point& point = point_of(key, call);
    const Learner::CallShape shape = learner->shape_of(key);
    std::int64_t began = now_ns();
    int arm = learner->arm_for(point, key);
    const auto by_arm = [&] {
        key.arm = static_cast<std::int16_t>(arm);
        return &plan_for(key, call, &at(point.arms, arm));
    };
    CachedPlan* chosen = by_arm();
    // A fallback to another configuration would time the wrong one. One attempt a call: the time
    // for it is lost.
    if (!chosen->is_as_requested && arm != point.search.incumbent()) {
        learner->exclude(point, arm, since(began));
        began = now_ns();
        arm = point.search.incumbent();
        chosen = by_arm();
    }
    const bool is_new = chosen->uses++ == 0;
    const double making = is_new ? since(began) : 0;
    const std::int64_t made = now_ns();
    run_slot(*chosen->slots.front(), call.buffers);
    learner->record(point, shape, since(made), making);
    return {.plan = chosen, .point = &point, .shape = shape, .arm = arm};
}

// What is learnt for blocking calls is used for non-blocking ones, too, unless it is a library's.
CachedPlan& Communicator::State::plan_for_start(CallKey key, const CallArguments& call) {
    Learner::Point* const point = learner ? learner->find(key) : nullptr;
    if (point == nullptr) return plan_for(key, call);
    const int arm = point->search.incumbent();
    const Configuration& found = at(point->arms, arm);
    if (!found.is_ours()) return plan_for(key, call);
    key.arm = static_cast<std::int16_t>(arm);
    return plan_for(key, call, &found);
}

}  // namespace tutti
