// SPDX-License-Identifier: Apache-2.0
// Calls of a communicator that learns while the program runs.
#include "base/clock.hpp"
#include "library/communicator_state.hpp"

namespace tutti {
namespace {

double since(std::int64_t began_ns) { return static_cast<double>(now_ns() - began_ns); }

}  // namespace

// Learning begins with what does the call without it, and its plan.
Learner::Spot& Communicator::State::spot_of(const CallKey& key, const CallArguments& call) {
    if (Learner::Spot* known = learner->find(key)) return *known;
    kept(key, call);
    auto plan = calls.extract(key);
    plan.key().arm = 0;
    plan.mapped().is_as_wished = true;
    Learner::Spot& spot = learner->begin(key, plan.mapped().configuration);
    calls.insert(std::move(plan));
    return spot;
}

RecentCall Communicator::State::run_and_learn(CallKey key, const CallArguments& call) {
    Learner::Spot& spot = spot_of(key, call);
    const Learner::Sort sort = learner->sort_of(key);
    std::int64_t began = now_ns();
    int arm = learner->arm_for(spot, key);
    const auto by_arm = [&] {
        key.arm = static_cast<std::int16_t>(arm);
        return &kept(key, call, &spot.arms[static_cast<std::size_t>(arm)]);
    };
    CachedPlan* chosen = by_arm();
    // Then another configuration would do it, which is not what is to be timed. One attempt a call:
    // the time for it is lost.
    if (!chosen->is_as_wished && arm != spot.lesson.incumbent()) {
        learner->cannot(spot, arm, since(began));
        began = now_ns();
        arm = spot.lesson.incumbent();
        chosen = by_arm();
    }
    const bool is_new = chosen->uses_so_far++ == 0;
    const double making = is_new ? since(began) : 0;
    const std::int64_t made = now_ns();
    run_slot(*chosen->slots.front(), call.buffers);
    learner->took(spot, sort, since(made), making);
    return {.kept = chosen, .spot = &spot, .sort = sort, .arm = arm};
}

// What is found for blocking calls is taken for others, too, unless it is a library's.
CachedPlan& Communicator::State::kept_for_start(CallKey key, const CallArguments& call) {
    Learner::Spot* const spot = learner ? learner->find(key) : nullptr;
    if (spot == nullptr) return kept(key, call);
    const int arm = spot->lesson.incumbent();
    const Configuration& found = spot->arms[static_cast<std::size_t>(arm)];
    if (!found.is_ours()) return kept(key, call);
    key.arm = static_cast<std::int16_t>(arm);
    return kept(key, call, &found);
}

}  // namespace tutti
