// SPDX-License-Identifier: Apache-2.0
#include "library/communicator_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <exception>

#include "autotune/choice/default_choice.hpp"
#include "autotune/choice/subject.hpp"
#include "autotune/table/table_for_ranks.hpp"
#include "base/clock.hpp"
#include "base/index.hpp"
#include "topology/detect/detect.hpp"

namespace tutti {
namespace {

// Greatest number of pending calls of one kind. Another start waits for the oldest one.
constexpr std::size_t most_slots = 8;

HostTuning tuning_of(World& world) {
    if (!world.is_first()) return from_rank0(world, HostTuning{});
    static const HostTuning of_this_host = tuning_from(detect_structure());
    return from_rank0(world, of_this_host);
}

double since(std::int64_t began_ns) { return static_cast<double>(now_ns() - began_ns); }

void check_length(std::size_t given, std::size_t needed, std::string_view what, const Call& call) {
    if (given == needed) return;
    throw Error(fmt::format("{} of {} has {} bytes; this call needs {}", what,
                            name_of(call.collective), given, needed));
}

}  // namespace

Communicator::State::State(std::unique_ptr<World> own_world, World& its_world,
                           CommunicatorOptions its_options)
    : own(std::move(own_world)),
      world(its_world),
      options(std::move(its_options)),
      planner(world),
      registered(world),
      plan_progress_(*this) {
    if (own) {
        own->hang_timeout = options.deadline;
        own->background = options.background;
    }
    check_same_options(world, options);
    planner.tune(tuning_of(world));
    if (!options.table && !options.table_file.empty())
        options.table =
            table_for_ranks(world, options.table_file, {.anyway = options.table_anyway});
    if (options.table || options.learn) job_shape = job_shape_of(world);
    if (options.table) selector.emplace(*options.table, *job_shape);
    if (options.learn) learner.emplace(world, *options.learn);
    world.register_progress(plan_progress_);
}

// Waits for the peers, because they may still read this rank's memory.
Communicator::State::~State() {
    try {
        if (!is_preloaded && !is_broken && !world.has_ended() && std::uncaught_exceptions() == 0) {
            planner.progress().finish_all();
            world.barrier();
        }
    } catch (const std::exception&) {  // another rank has ended
        is_broken = true;
    }
    if (is_broken) world.has_given_up = true;
    world.unregister_progress(plan_progress_);
}

void Communicator::State::refuse() {
    throw Error("the communicator cannot be used any more: an earlier call failed",
                Exit::rank_lost);
}

CallArguments Communicator::State::settled(const CallArguments& given) const {
    const Call& call = given.call;
    const int ranks = world.size();
    if (call.root.index < 0 || call.root.index >= ranks)
        throw Error(
            fmt::format("root {} is out of range; there are {} ranks", call.root.index, ranks));
    const std::size_t input = input_bytes(call, ranks, world.rank()),
                      output = output_bytes(call, ranks, world.rank());
    const CallBuffers& all = given.buffers;
    CallArguments settled = given;
    if (!all.in_place) {
        if (input > 0) check_length(all.input.size(), input, "input", call);
        if (output > 0) check_length(all.output.size(), output, "output", call);
        settled.buffers.input = all.input.first(input);
        settled.buffers.output = all.output.first(output);
        if (CallerMemory(settled.buffers).is_together())
            throw Error(
                fmt::format("input and output of {} overlap; pass one buffer for an in-place call",
                            name_of(call.collective)));
        return settled;
    }
    const InPlace at = in_place_offsets(call, ranks, world.rank());
    check_length(all.output.size(), std::max(at.input + input, at.output + output), "the buffer",
                 call);
    settled.buffers.input = std::span<const std::byte>(all.output).subspan(at.input, input);
    settled.buffers.output = all.output.subspan(at.output, output);
    return settled;
}

CallKey Communicator::State::key_of(const CallArguments& given, CallMode mode) const {
    CallKey key{.call = comparable(given.call), .in_place = given.buffers.in_place, .mode = mode};
    const RegisteredPlace input = registered.place_of(given.buffers.input),
                          output = registered.place_of(given.buffers.output);
    const bool input_counts = !given.buffers.input.empty(),
               output_counts = !given.buffers.output.empty();
    // A plan needs both in the same arena.
    const bool is_registered = (!input_counts || input.arena >= 0) &&
                               (!output_counts || output.arena >= 0) &&
                               (!input_counts || !output_counts || input.arena == output.arena);
    if (is_registered && input_counts) key.input = input;
    if (is_registered && output_counts) key.output = output;
    return key;
}

void Communicator::State::run(const CallArguments& given) {
    const RecentCall& recent = recent_.place_of(given);
    const CallArguments call =
        recent.is(given) ? CallArguments{given.call, recent.settled} : settled(given);
    guarded([&] {
        is_admitted(call, CallMode::blocking) ? run_planned(given, &call) : run_in_slot(call);
    });
}

void Communicator::State::run_planned(const CallArguments& given,
                                      const CallArguments* settled_call) {
    RecentCall& recent = recent_.place_of(given);
    if (recent.is(given) &&
        (recent.point == nullptr || learner->passes(*recent.point, recent.arm, recent.shape))) {
        recent.plan->last_use = ++uses_;
        return run_slot(*recent.plan->slots.front(), recent.settled, &recent);
    }
    const CallArguments call = settled_call != nullptr ? *settled_call : settled(given);
    const CallKey key = key_of(given, CallMode::blocking);
    if (learner) {
        RecentCall learnt = run_and_learn(key, call);
        learnt.given = given;
        learnt.settled = call.buffers;
        recent_.place_of(given) = learnt;  // `recent` may have been cleared meanwhile
        return;
    }
    CachedPlan& found = plan_for(key, call);
    recent = {given, call.buffers, &found};
    run_slot(*found.slots.front(), call.buffers);
}

Configuration Communicator::State::choice_for(const CallArguments& given) {
    const CallKey key = key_of(given, CallMode::blocking);
    if (const Learner::Point* point = learner ? learner->find(key) : nullptr)
        return at(point->arms, point->search.incumbent());
    Configuration choice;
    guarded([&] { choice = plan_for(key, settled(given)).configuration; });
    return choice;
}

Request Communicator::State::start(const CallArguments& given) {
    const CallArguments call = settled(given);
    const CallKey key = key_of(given, CallMode::nonblocking);
    Request pending;
    guarded([&] {
        if (!is_admitted(call, CallMode::nonblocking)) return run_in_slot(call);
        Request::Slot& slot = slot_to_start(plan_for_start(key, call), key, call);
        pending.slot_ = &slot;
        pending.run_ = ++slot.run;
        if (slot.plan == nullptr) return run_slot(slot, call.buffers);
        slot.plan->rebind(call.buffers);
        slot.bound_by = nullptr;
        slot.plan->start();
    });
    return pending;
}

bool Communicator::State::test(Request::Slot& slot) {
    constexpr unsigned tests_between_looks = 1024;  // a look costs a system call
    const bool is_done = slot.plan->test();
    if (!is_done && ++tests_in_vain_ % tests_between_looks == 0) planner.progress().throw_if_lost();
    return is_done;
}

// A library's call makes no progress on pending plans, but may wait for a rank that waits for one
// of them. So pending plans end first. After the call, the settings of the library are restored.
void Communicator::State::run_slot(Request::Slot& slot, const CallBuffers& buffers,
                                   const void* bound_by) {
    if (slot.plan == nullptr && !planner.progress().is_idle()) planner.progress().finish_all();
    if (bound_by == nullptr || slot.bound_by != bound_by) {
        slot.operation->rebind(buffers);
        slot.bound_by = bound_by;
    }
    slot.operation->run();
    if (slot.plan == nullptr)
        for (const Baseline& library : baselines()) library.restore();
}

CachedPlan& Communicator::State::plan_for(const CallKey& key, const CallArguments& settled,
                                          const Configuration* preferred) {
    const auto known = calls.find(key);
    CachedPlan& call = known != calls.end() ? known->second : make(key, settled, preferred);
    call.last_use = ++uses_;
    return call;
}

OperationRequest Communicator::State::request_for(const CallKey& key,
                                                  const CallArguments& settled) const {
    const std::int32_t arena = std::max(key.input.arena, key.output.arena);
    return {key.call, settled.buffers, registered.arena(arena)};
}

namespace {

// A plan maps up to five pieces of memory of each rank. Linux allows 65,530 mappings per process.
std::size_t plans_that_fit(int ranks) { return std::max<std::size_t>(4096 / as_size(ranks), 16); }

}  // namespace

CachedPlan& Communicator::State::make(const CallKey& key, const CallArguments& settled,
                                      const Configuration* first) {
    check_same_call(world, key);
    const std::int64_t began = now_ns();
    const auto most = std::clamp<std::size_t>(options.most_plans, 1, plans_that_fit(world.size()));
    while (calls.size() >= most) evict_the_oldest();
    const OperationRequest preferred = request_for(key, settled);
    // Later calls may have buffers of another kind. The plan is still correct for them.
    const BufferKind kind = key.is_registered() ? BufferKind::registered
                            : selector && planner.are_mapped(settled.buffers)
                                ? BufferKind::mapped
                                : BufferKind::unregistered;
    CachedPlan made;
    for (const Configuration& configuration : configurations(key, first, kind)) {
        if (auto found = make_operation_on_all(planner, configuration, preferred)) {
            made.configuration = configuration;
            made.slots.reserve(most_slots);
            made.slots.push_back(&new_slot(std::move(found)));
            making_ns += now_ns() - began;
            return calls.emplace(key, std::move(made)).first->second;
        }
        made.is_as_requested = false;
    }
    throw Error(fmt::format("no algorithm of this build supports {} on these {} ranks",
                            name_of(key.call.collective), world.size()));
}

std::vector<Configuration> Communicator::State::configurations(const CallKey& key,
                                                               const Configuration* first,
                                                               BufferKind kind) const {
    std::vector<Configuration> configurations;
    if (first != nullptr) configurations.push_back(*first);
    const Bytes bytes{total_bytes(key.call, world.size())};
    const Range* range =
        selector ? selector->pick(key.call.collective, key.call.type, key.call.op, kind, bytes)
                 : nullptr;
    if (range != nullptr) {
        configurations.push_back(range->choice);
        for (const RangeEvidence& seen : range->evidence)
            if (seen.runner_up) configurations.push_back(*seen.runner_up);
    }
    for (Configuration& fallback : default_choices(key.call, world))
        configurations.push_back(std::move(fallback));
    if (is_preloaded)
        std::erase_if(configurations, [](const Configuration& one) {
            return one.is_ours() ? one.transport != "shm" : !one.algorithm.empty();
        });
    if (key.mode == CallMode::blocking) return configurations;
    // Prefer plans: a library's call makes no progress in the background.
    std::vector<Configuration> in_order;
    for (const bool are_ours : {true, false})
        std::ranges::copy_if(configurations, std::back_inserter(in_order),
                             [&](const Configuration& one) { return one.is_ours() == are_ours; });
    return in_order;
}

Request::Slot& Communicator::State::new_slot(std::unique_ptr<Operation> operation) {
    if (free_slots_.empty()) free_slots_.push_back(&slots_.emplace_back());
    Request::Slot& slot = *free_slots_.back();
    free_slots_.pop_back();
    slot.owner = this;
    slot.plan = dynamic_cast<Plan*>(operation.get());
    slot.operation = std::move(operation);
    slot.bound_by = nullptr;
    ++slot.run;
    return slot;
}

// Plans of a kind of call are used round-robin. If the next one is still pending, another plan can
// be made. That is collective, but the plan may be pending on some ranks only. So the ranks agree
// on it at each of the first starts, and then less and less often. Otherwise a start waits for the
// plan.
Request::Slot& Communicator::State::slot_to_start(CachedPlan& cached, const CallKey& key,
                                                  const CallArguments& settled) {
    const std::uint64_t start = cached.starts++;
    Request::Slot* slot = cached.slots[cached.next];
    const bool may_grow = start > 0 && cached.slots.size() < most_slots && slot->plan != nullptr &&
                          (start <= most_slots || std::has_single_bit(start));
    if (may_grow && !true_on_all_ranks(world, slot->plan->test())) {
        if (auto more =
                make_operation_on_all(planner, cached.configuration, request_for(key, settled))) {
            slot = &new_slot(std::move(more));
            cached.slots.insert(cached.slots.begin() + static_cast<std::ptrdiff_t>(cached.next),
                                slot);
        }
    }
    if (!slot->is_done()) slot->plan->wait();
    cached.next = (cached.next + 1) % cached.slots.size();
    return *slot;
}

// Returns the online search for a call. A new one begins with the configuration and the plan that
// the call has without learning.
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
    // The arm cannot run and was replaced by a fallback, which must not be timed as this arm.
    // Exclude it and use the incumbent. Only one arm is tried per call, as the time for it is lost.
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

// Non-blocking calls use what blocking calls have learnt, unless it is a library's call.
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
