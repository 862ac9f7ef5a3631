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

// So many calls of one kind may be under way at once; more wait for the oldest of them.
constexpr std::size_t most_slots = 8;

HostTuning tuning_of(World& world) {
    if (!world.is_first()) return from_rank0(world, HostTuning{});
    static const HostTuning of_this_host = tuning_from(detect_structure());
    return from_rank0(world, of_this_host);
}

void check_length(std::size_t given, std::size_t needed, std::string_view what, const Call& call) {
    if (given == needed) return;
    throw Error(fmt::format("{} of {} holds {} bytes; this call needs {} there", what,
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

// All leave together, as a peer may still read what this rank holds.
Communicator::State::~State() {
    try {
        if (!is_preloaded && !is_broken && !world.has_ended() && std::uncaught_exceptions() == 0) {
            planner.progress().finish_all();
            world.barrier();
        }
    } catch (const std::exception&) {  // another rank is gone; nothing is left to be done for it
        is_broken = true;
    }
    if (is_broken) world.has_given_up = true;
    world.unregister_progress(plan_progress_);
}

void Communicator::State::refuse() {
    throw Error("a call of this communicator has failed before, so it cannot be used any more",
                Exit::rank_lost);
}

CallArguments Communicator::State::settled(const CallArguments& given) const {
    const Call& call = given.call;
    const int ranks = world.size();
    if (call.root.index < 0 || call.root.index >= ranks)
        throw Error(fmt::format("there is no root {} among {} ranks", call.root.index, ranks));
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
            throw Error(fmt::format("input and output of {} overlap; call it with one buffer",
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
    CallKey key{.call = given.call, .in_place = given.buffers.in_place, .mode = mode};
    if (!reduces(key.call.collective)) key.call.op = Op::sum;
    if (!has_root(key.call.collective)) key.call.root = Rank{0};
    const RegisteredPlace input = registered.place_of(given.buffers.input),
                          output = registered.place_of(given.buffers.output);
    const bool input_counts = !given.buffers.input.empty(),
               output_counts = !given.buffers.output.empty();
    // A plan takes both from one arena.
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
        recent_.place_of(given) = learnt;  // what was there may have been forgotten meanwhile
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

// A library's call makes no progress on our plans under way, and its end may depend on a rank that
// waits for one of them. The program's own calls of the library must not be affected.
void Communicator::State::run_slot(Request::Slot& slot, const CallBuffers& buffers,
                                   const void* bound_by) {
    if (slot.plan == nullptr && !planner.progress().is_idle()) planner.progress().finish_all();
    if (bound_by == nullptr || slot.bound_by != bound_by) {
        slot.operation->rebind(buffers);
        slot.bound_by = bound_by;
    }
    slot.operation->run();
    if (slot.plan == nullptr)
        for (const Baseline& library : baselines()) library.leave_as_found();
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

// A plan maps up to five pieces of each rank of the host, and a process has 65,530 mappings.
std::size_t plans_that_fit(int ranks) { return std::max<std::size_t>(4096 / as_size(ranks), 16); }

}  // namespace

CachedPlan& Communicator::State::make(const CallKey& key, const CallArguments& settled,
                                      const Configuration* first) {
    check_same_call(world, key);
    const std::int64_t began = now_ns();
    const auto most = std::clamp<std::size_t>(options.most_plans, 1, plans_that_fit(world.size()));
    while (calls.size() >= most) forget_the_oldest();
    const OperationRequest preferred = request_for(key, settled);
    // Buffers of later calls may be of another kind: the plan is right for them, too.
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
    throw Error(fmt::format("no algorithm of this build can do {} among these {} ranks",
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
    // A library's call makes no progress without this rank, so libraries come last.
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

// Plans of a kind of call are used round-robin. Whether the next one is still under way may differ
// from rank to rank, and making one more is collective. So the ranks agree on it at each of the
// first starts, and then ever less often; in between, a start waits for the next plan.
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

}  // namespace tutti
