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

namespace tutti {
namespace {

// Greatest number of pending calls of one kind. Another start waits for the oldest one.
constexpr std::size_t most_slots = 8;

// About the time that a call of tutti takes under tutti run before its timer starts: if it is
// looked up, and if it is repeated. Calls that are left to the MPI library
// do not come here.
constexpr double lookup_ns = 100, repeat_ns = 15;

void check_length(std::size_t given, std::size_t needed, std::string_view what, const Call& call) {
    if (given == needed) return;
    throw Error(fmt::format("{} of {} has {} bytes; this call needs {}", what,
                            name_of_call(call.collective, call.lengths != nullptr), given, needed));
}

}  // namespace

std::string_view transport_of_program(const World& world) {
    if (world.one_host()) return "shm";
    return world.hosts().nodes().size() == as_size(world.size()) ? "mpi" : "hybrid-mpi";
}

void keep_choices_of_program(std::vector<Configuration>& choices, const World& world) {
    const std::string_view transport = transport_of_program(world);
    for (Configuration& choice : choices)
        if (choice.transport == "hybrid" && !world.one_host()) choice.transport = transport;
    std::erase_if(choices, [&](const Configuration& choice) {
        return choice.is_ours() ? choice.transport != transport
                                : choice.impl != "mpi" || !choice.algorithm.empty();
    });
}

Communicator::State::State(std::unique_ptr<World> own_world, World& its_world,
                           CommunicatorOptions its_options, Use use)
    : own(std::move(own_world)),
      world(its_world),
      options(std::move(its_options)),
      planner(world),
      registered(world),
      is_preloaded(use == Use::preloaded),
      plan_progress_(*this) {
    if (own) {
        own->hang_timeout = options.deadline;
        own->background = options.background;
    }
    planner.tune(agree_on_options(world, options));
    if (!options.table && !options.table_file.empty())
        options.table =
            table_for_ranks(world, options.table_file, {.anyway = options.table_anyway});
    if (options.table || (options.learn && !is_preloaded)) job_shape = job_shape_of(world);
    if (options.table) selector.emplace(*options.table, *job_shape);
    if (options.learn) learner.emplace(world, *options.learn);
    world.register_progress(plan_progress_);
    for (const Collective collective : all_collectives())
        blocks_of_total_.push_back(total_bytes(
            {.collective = collective, .type = DataType::uint8, .count = 1}, world.size()));
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

namespace {

// A plan maps up to five pieces of memory of each rank. Linux allows 65,530 mappings per process.
std::size_t plans_that_fit(int ranks) { return std::max<std::size_t>(4096 / as_size(ranks), 16); }

// Whether plans of this configuration serve one length only.
bool is_of_one_call(const Configuration& configuration) {
    return configuration.is_ours() &&
           find_transport(configuration.transport).methods.are_of_devices();
}

}  // namespace

Error Communicator::State::no_algorithm(const CallKey& key) const {
    return Error(fmt::format("no algorithm of this build supports {} on these {} ranks",
                             name_of_call(key.call.collective, key.has_lengths), world.size()));
}

void Communicator::State::refuse() {
    throw Error("the communicator cannot be used any more: an earlier call failed",
                Exit::rank_lost);
}

void Communicator::State::check_root(const Call& call) const {
    if (call.root.index < 0 || call.root.index >= world.size())
        throw Error(fmt::format("root {} is out of range; there are {} ranks", call.root.index,
                                world.size()));
}

// Checks the root and the number of lengths, too.
BufferSizes Communicator::State::sizes_of(const Call& call) const {
    const int ranks = world.size();
    check_root(call);
    if (call.lengths != nullptr) {
        const std::int64_t blocks = CollectiveSpec{call.collective, ranks, call.root}.blocks();
        if (call.lengths->blocks() != blocks)
            throw Error(
                fmt::format("{} has {} blocks on {} ranks, but {} lengths are given; give "
                            "one for each block",
                            name_of(call.collective), blocks, ranks, call.lengths->blocks()));
    }
    return {input_bytes(call, ranks, world.rank()), output_bytes(call, ranks, world.rank()),
            in_place_offsets(call, ranks, world.rank())};
}

namespace {

// Returns the parts of the buffers that this rank uses.
CallBuffers parts_of(const CallBuffers& all, const BufferSizes& sizes) {
    CallBuffers parts = all;
    if (all.in_place) {
        parts.input = all.output.subspan(sizes.at.input, sizes.input);
        parts.output = all.output.subspan(sizes.at.output, sizes.output);
    } else {
        parts.input = all.input.first(sizes.input);
        parts.output = all.output.first(sizes.output);
    }
    return parts;
}

}  // namespace

CallArguments Communicator::State::settled(const CallArguments& given) const {
    return settled(given, sizes_of(given.call));
}

CallArguments Communicator::State::settled(const CallArguments& given,
                                           const BufferSizes& sizes) const {
    const auto& [call, all] = given;
    if (all.in_place) {
        check_length(all.output.size(), sizes.together(), "the buffer", call);
    } else {
        if (sizes.input > 0) check_length(all.input.size(), sizes.input, "input", call);
        if (sizes.output > 0) check_length(all.output.size(), sizes.output, "output", call);
        if (overlap(all.input.first(sizes.input), all.output.first(sizes.output)))
            throw Error(
                fmt::format("input and output of {} overlap; pass one buffer for an in-place call",
                            name_of_call(call.collective, call.lengths != nullptr)));
    }
    return {comparable(call), parts_of(all, sizes)};
}

CallKey Communicator::State::key_of(const CallArguments& given, CallMode mode) const {
    CallKey key{.call = comparable(given.call), .in_place = given.buffers.in_place, .mode = mode};
    key.has_lengths = given.call.lengths != nullptr;
    key.call.lengths = nullptr;  // plans serve blocks of any lengths
    const RegisteredPlace input = registered.place_of(given.buffers.input),
                          output = registered.place_of(given.buffers.output);
    // With different lengths, a block may be empty on this rank alone. It still has a place.
    const auto is_given = [&](std::span<const std::byte> buffer) {
        return key.has_lengths ? buffer.data() != nullptr : !buffer.empty();
    };
    const bool input_counts = is_given(given.buffers.input),
               output_counts = is_given(given.buffers.output);
    // A plan needs both in the same arena.
    const bool is_registered = (!input_counts || input.arena >= 0) &&
                               (!output_counts || output.arena >= 0) &&
                               (!input_counts || !output_counts || input.arena == output.arena);
    if (is_registered && input_counts) key.input = input;
    if (is_registered && output_counts) key.output = output;
    return key;
}

void Communicator::State::run(const CallArguments& given) {
    RecentCall& predicted = recent_.predicted();
    if (!recent_.can_predict() || !predicted.is_same(given)) return look_up_and_run(given);
    recent_.note_found(predicted);
    if (!run_found(predicted)) run_checked(given, /*is_recent=*/true);
}

// Runs a call that was not predicted. Not inlined: in run(), the compiler would load two arguments
// at once that the caller has just stored separately. Store forwarding would fail, and the load
// would wait for all earlier stores.
void Communicator::State::look_up_and_run(const CallArguments& given) {
    RecentCall& likely = recent_.likely(RecentCall::hash_of(given));
    const BlockElements elements = BlockElements::of(given.call);
    const bool is_repeated = elements == likely.elements;
    const bool is_recent =
        likely.is_like(given) && (is_repeated || adapt(likely, elements)) && likely.is(given);
    // Only calls with equal arguments can be predicted.
    if (is_recent && is_repeated) recent_.note_found(likely);
    if (!is_recent || !run_found(likely)) run_checked(given, is_recent);
}

// Runs a recent call. Returns false, and does nothing, if the search must choose its algorithm.
bool Communicator::State::run_found(RecentCall& recent) {
    const Learner::Needs needs = needs_of(recent.known, recent.shape);
    if (needs == Learner::Needs::search) return false;
    last_recent = &recent;
    run_recent(recent, needs, take_untimed_ns());
    return true;
}

// Returns the time that a call takes before its plan runs, for the learner, and resets
// is_usually_repeated.
double Communicator::State::take_untimed_ns() {
    return std::exchange(is_usually_repeated, false) ? repeat_ns : lookup_ns;
}

// Runs a call that is not recent, or that a search must choose for.
void Communicator::State::run_checked(const CallArguments& given, bool is_recent) {
    last_recent = nullptr;
    const double untimed_ns = take_untimed_ns();
    const CheckedCall call = checked(given, CallMode::blocking);
    guarded([&] {
        const Learner::CallShape shape = Learner::shape_of(call.bytes, call.key.in_place);
        const Learner::Needs needs = needs_of(call, shape);
        const bool is_new = needs == Learner::Needs::search;
        KnownPlan known;
        if (is_new && learner) {
            known = run_and_learn(given, call, is_recent, untimed_ns);
            if (known.plan == nullptr) return;
        } else {
            known = is_new ? plan_without_learning(call.key, call.settled) : call.place->known;
            const std::int64_t began =
                needs == Learner::Needs::time ? begin_timing(given, *known.plan, is_recent) : 0;
            run_plan(*known.plan, call.settled);
            has_run(known, shape, began, untimed_ns);
        }
        if (is_new) remember(call, known);
        const std::uint64_t hash = RecentCall::hash_of(given);
        if (recent_.note(hash)) keep(recent_.place_for(hash), given, call, known, shape);
    });
}

bool Communicator::State::repeat(const RepeatableRun& call, const BlockElements& elements) {
    RecentCall& recent = *call.place;
    if (recent.number != call.number) return false;
    if (elements != recent.elements && !adapt(recent, elements)) return false;
    const Learner::Needs needs = needs_of(recent.known, recent.shape);
    if (needs == Learner::Needs::search) return false;
    run_recent(recent, needs, repeat_ns);
    return true;
}

void Communicator::State::run_recent(RecentCall& recent, Learner::Needs needs, double untimed_ns) {
    if (needs == Learner::Needs::time) return run_timed(recent, untimed_ns);
    guarded([&] {
        run_plan(*recent.known.plan, recent.settled, &recent);
        tell_if_left(recent.known, recent.shape);
    });
}

void Communicator::State::run_timed(RecentCall& recent, double untimed_ns) {
    guarded([&] {
        const std::int64_t began = now_ns();
        run_plan(*recent.known.plan, recent.settled, &recent);
        has_run(recent.known, recent.shape, began, untimed_ns);
    });
}

void Communicator::State::keep(RecentCall& recent, const CallArguments& given,
                               const CheckedCall& call, const KnownPlan& known,
                               Learner::CallShape shape) {
    recent.given = given;
    recent.settled = call.settled;
    recent.known = known;
    recent.shape = shape;
    recent.elements = BlockElements::of(given.call);
    recent.number = ++last_number_;
    recent.octaves = 0;
    if (call.key.has_lengths) {
        recent.lengths = *given.call.lengths;
        recent.given.call.lengths = recent.settled.call.lengths = &recent.lengths;
        return;
    }
    // The place of its class has its sizes in blocks.
    if (call.place->of != call.of_class || known.plan->is_of_one_call) return;
    recent.octaves = octaves_of(recent.elements.bytes, call.bytes);
    recent.arena = call.key.arena();
    recent.in_blocks = call.place->in_blocks;
    recent.buffers = call.place->buffers;
    recent.range = call.place->range;
}

// Adapts a recent call to other elements, in buffers of just that size. Returns false, and changes
// nothing, if it may have another plan, or if the buffers would overlap.
bool Communicator::State::adapt(RecentCall& recent, const BlockElements& elements) {
    const Call& last = recent.given.call;
    const std::int64_t all = at(blocks_of_total_, last.collective) * elements.bytes;
    if (octaves_of(elements.bytes, all) != recent.octaves ||
        !recent.serves(elements.type, elements.op))
        return false;
    if (selector && recent.known.point == nullptr &&
        selector->pick(last.collective, elements.type, elements.op, recent.buffers, Bytes{all}) !=
            recent.range)
        return false;
    const BufferSizes sizes = recent.in_blocks.times(as_size(elements.bytes));
    CallBuffers given = recent.given.buffers;
    if (given.in_place) {
        given.output = {given.output.data(), sizes.together()};
        if (!given.input.empty()) given.input = {given.input.data(), sizes.together()};
    } else {
        if (sizes.input > 0) given.input = {given.input.data(), sizes.input};
        if (sizes.output > 0) given.output = {given.output.data(), sizes.output};
    }
    const CallBuffers used = parts_of(given, sizes);
    if (!given.in_place && overlap(used.input, used.output)) return false;
    const bool has_other_type = elements.type != last.type || elements.op != last.op;
    Call call = last;
    call.type = elements.type;
    call.op = elements.op;
    call.count = static_cast<std::int64_t>(elements_in(as_size(elements.bytes), elements.type));
    if (!registered.is_empty() && key_of({call, given}, CallMode::blocking).arena() != recent.arena)
        return false;
    recent.given = {call, given};
    recent.settled = {has_other_type ? comparable(call) : recent.settled.call, used};
    recent.settled.call.count = call.count;
    recent.elements = elements;
    recent.shape = Learner::shape_of(all, given.in_place);
    recent.known.plan->slots.front()->bound_by = nullptr;
    return true;
}

// The time of a call includes its look-up. That is over when the call turns out to be timed, so it
// is done again. Recent calls are not looked up, nor under tutti run those of the MPI library.
std::int64_t Communicator::State::begin_timing(const CallArguments& given, const CachedPlan& plan,
                                               bool is_recent) {
    const std::int64_t began = now_ns();
    if (!is_recent && (plan.is_ours || !is_preloaded)) checked(given, CallMode::blocking);
    return began;
}

// `untimed_ns`: what a call of tutti took before `began_ns`, under tutti run.
double Communicator::State::time_since(std::int64_t began_ns, const CachedPlan& plan,
                                       double untimed_ns) const {
    return ns_since(began_ns) + (is_preloaded && plan.is_ours ? untimed_ns : 0);
}

// `began_ns`: when the call began, if it is timed, else 0.
void Communicator::State::has_run(const KnownPlan& known, Learner::CallShape shape,
                                  std::int64_t began_ns, double untimed_ns) {
    if (began_ns != 0)
        learner->record(*known.point, shape, time_since(began_ns, *known.plan, untimed_ns), 0);
    tell_if_left(known, shape);
}

// Ranks find a plan in different ways, as their buffers lie elsewhere, but must all tell this.
void Communicator::State::tell_if_left(const KnownPlan& known, Learner::CallShape shape) {
    if (known.plan->is_ours)
        left_to_library.point = nullptr;
    else
        left_to_library = {known.point, known.arm, shape};
}

std::int64_t Communicator::State::bytes_of_all(const Call& call) const {
    return at(blocks_of_total_, call.collective) * block_bytes(call);
}

Communicator::State::CheckedCall Communicator::State::checked(const CallArguments& given,
                                                              CallMode mode) {
    CheckedCall checked;
    checked.key = key_of(given, mode);
    checked.bytes = bytes_of_all(given.call);
    checked.of_class = class_of(checked.key, checked.bytes);
    checked.place = &classes_.place_of(checked.of_class);
    const bool has_sizes = checked.place->of == checked.of_class && !checked.key.has_lengths;
    checked.settled =
        has_sizes ? settled(given, checked.place->in_blocks.times(as_size(block_bytes(given.call))))
                  : settled(given);
    return checked;
}

Learner::Needs Communicator::State::needs_of(const KnownPlan& known, Learner::CallShape shape) {
    return known.point == nullptr ? Learner::Needs::nothing
                                  : Learner::needs_of(*known.point, known.arm, shape);
}

// Returns Needs::search if the place does not have the plan for the call.
Learner::Needs Communicator::State::needs_of(const CheckedCall& call, Learner::CallShape shape) {
    const KnownClass& place = *call.place;
    const KnownPlan& known = place.known;
    if (place.of != call.of_class || world.has_ended()) return Learner::Needs::search;
    const auto& [collective, type, op, root, count, lengths] = call.key.call;
    if (!known.serves_class && (type != place.type || op != place.op))
        return Learner::Needs::search;
    const auto nothing_if = [](bool is_so) {
        return is_so ? Learner::Needs::nothing : Learner::Needs::search;
    };
    if (known.point == nullptr)
        return nothing_if(!selector ||
                          selector->pick(collective, type, op, place.buffers,
                                         Bytes{total_bytes(call.settled.call, world.size())}) ==
                              place.range);
    if (call.key.mode == CallMode::nonblocking)
        return nothing_if(known.arm == known.point->search.incumbent());
    return needs_of(known, shape);
}

void Communicator::State::remember(const CheckedCall& call, const KnownPlan& known) {
    if (known.plan->is_of_one_call || (learner && known.point == nullptr)) return;
    KnownClass& place = *call.place;
    Call one = call.key.call;
    place = {.of = call.of_class, .known = known, .type = one.type, .op = one.op};
    one.type = DataType::uint8;
    one.count = 1;
    place.in_blocks = sizes_of(one);
    if (!selector || known.point != nullptr) return;
    place.buffers = kinds_.at(of_plan(call.key));
    place.range = range_of(call.key, call.settled);
}

Configuration Communicator::State::choice_for(const CallArguments& given) {
    const CallKey key = key_of(given, CallMode::blocking);
    if (const Learner::Point* point = learner ? learner->find(key) : nullptr)
        return at(point->arms, point->search.incumbent());
    Configuration choice;
    guarded([&] { choice = plan_for(key, settled(given)).plan->configuration; });
    return choice;
}

Request Communicator::State::start(const CallArguments& given) {
    const CheckedCall checked = this->checked(given, CallMode::nonblocking);
    const CallArguments& call = checked.settled;
    Request pending;
    guarded([&] {
        const bool is_new = needs_of(checked, {}) == Learner::Needs::search;
        const KnownPlan known =
            is_new ? plan_without_learning(checked.key, call) : checked.place->known;
        if (is_new) remember(checked, known);
        Request::Slot& slot = slot_to_start(*known.plan, checked.key, call);
        pending.slot_ = &slot;
        pending.run_ = ++slot.run;
        if (slot.plan == nullptr) return run_slot(slot, call);
        slot.plan->bind(call.call, call.buffers);
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

void Communicator::State::run_plan(CachedPlan& plan, const CallArguments& call,
                                   const void* bound_by) {
    plan.last_use = ++uses_;
    run_slot(*plan.slots.front(), call, bound_by);
}

// A library's call makes no progress on pending plans, but may wait for a rank that waits for one
// of them. So pending plans end first. After the call, the settings of the library are restored.
void Communicator::State::run_slot(Request::Slot& slot, const CallArguments& call,
                                   const void* bound_by) {
    if (slot.plan == nullptr && !planner.progress().is_idle()) planner.progress().finish_all();
    if (bound_by == nullptr || slot.bound_by != bound_by) {
        slot.operation->bind(call.call, call.buffers);
        slot.bound_by = bound_by;
    }
    slot.operation->run();
    if (slot.plan == nullptr)
        for (const Baseline& library : baselines()) library.restore();
}

ChosenPlan Communicator::State::plan_for(const CallKey& key, const CallArguments& settled,
                                         const Configuration* preferred) {
    if (world.has_ended()) throw Error("MPI has ended; release communicators before MPI_Finalize");
    Agreed agreed;
    if (preferred == nullptr) find_kind(agreed, key, settled);
    const ChoiceKey octave{of_octave(key), preferred == nullptr ? range_of(key, settled) : nullptr,
                           preferred};
    ChosenPlan chosen;
    if (const ChosenPlan* const known = known_choice(octave); known == nullptr) {
        agree(agreed, key, settled);
        chosen = choose(key, settled, preferred, octave.range, agreed);
        keep_choice(octave, chosen);
    } else {
        chosen = *known;
        if (chosen.plan->is_of_one_call) {
            const Configuration configuration = chosen.plan->configuration;
            chosen.plan = find_or_make(key, configuration, settled, agreed);
            if (chosen.plan == nullptr) throw no_algorithm(key);
        }
    }
    chosen.plan->last_use = ++uses_;
    return chosen;
}

Communicator::State::ChoiceKey Communicator::State::of_class(ChoiceKey key) {
    Call& call = key.octave.call;
    const auto [type, op] = representative_of({.collective = call.collective,
                                               .types = tutti::class_of(call.collective, call.type),
                                               .ops = tutti::class_of(call.collective, call.op)});
    call.type = type;
    call.op = op;
    key.of_class = true;
    return key;
}

// Ranks may skip this look-up if their buffers differ. Making a choice is collective, so the
// look-up must succeed on all ranks or on none. This includes a new type or operation of a known
// class.
const ChosenPlan* Communicator::State::known_choice(const ChoiceKey& key) const {
    for (const ChoiceKey& one : {of_class(key), key})
        if (const auto known = choices_.find(one); known != choices_.end()) return &known->second;
    return nullptr;
}

void Communicator::State::keep_choice(const ChoiceKey& key, const ChosenPlan& chosen) {
    choices_[chosen.serves_class() ? of_class(key) : key] = chosen;
}

void Communicator::State::agree(Agreed& agreed, const CallKey& key, const CallArguments& settled) {
    if (!agreed)
        agreed = agree_on_call(world, key,
                               Planner::traits_of(settled.buffers, registered.arena(key.arena())));
}

// The kind of later calls' buffers may be another one. The plan is still correct for them.
void Communicator::State::find_kind(Agreed& agreed, const CallKey& key,
                                    const CallArguments& settled) {
    if (!selector || kinds_.contains(of_plan(key))) return;
    agree(agreed, key, settled);
    kinds_[of_plan(key)] = kind_of(key, *agreed);
}

BufferKind Communicator::State::kind_of(const CallKey& key, const BuffersOfAll& all) {
    if (key.is_registered()) return BufferKind::registered;
    return planner.are_mapped(all) ? BufferKind::mapped : BufferKind::unregistered;
}

const Range* Communicator::State::range_of(const CallKey& key, const CallArguments& settled) const {
    if (!selector) return nullptr;
    return selector->pick(key.call.collective, key.call.type, key.call.op, kinds_.at(of_plan(key)),
                          Bytes{total_bytes(settled.call, world.size())});
}

OperationRequest Communicator::State::request_for(const CallKey& key, const CallArguments& settled,
                                                  const Agreed& agreed) const {
    Call call = key.call;
    call.lengths = settled.call.lengths;
    return {call, settled.buffers, registered.arena(key.arena()), octave_of(key.call), agreed};
}

ChosenPlan Communicator::State::choose(const CallKey& key, const CallArguments& settled,
                                       const Configuration* preferred, const Range* range,
                                       const Agreed& agreed) {
    const std::int64_t began = now_ns();
    bool is_as_requested = true;
    for (const Fallbacks fallbacks : {Fallbacks::near, Fallbacks::all})
        for (const Configuration& configuration :
             configurations(key, preferred, range, agreed, fallbacks)) {
            if (CachedPlan* const plan = find_or_make(key, configuration, settled, agreed)) {
                making_ns += now_ns() - began;
                return {plan, is_as_requested};
            }
            is_as_requested = false;
        }
    throw no_algorithm(key);
}

// A library may refuse types and operations; plans of tutti do not.
CachedPlan* Communicator::State::find_or_make(const CallKey& key,
                                              const Configuration& configuration,
                                              const CallArguments& settled, const Agreed& agreed) {
    const CallKey served = is_of_one_call(configuration) ? key : of_plan(key);
    const OperationRequest request = request_for(key, settled, agreed);
    const auto known = std::ranges::find_if(plans, [&](const CachedPlan& one) {
        return one.key == served && one.configuration == configuration;
    });
    if (known != plans.end()) {
        const bool runs = configuration.is_ours() ||
                          true_on_all_ranks(world, !refusal(planner, configuration, request));
        return runs ? &*known : nullptr;
    }
    const auto most = std::clamp<std::size_t>(options.most_plans, 1, plans_that_fit(world.size()));
    while (plans.size() >= most) evict_the_oldest();
    auto made = make_operation_on_all(planner, configuration, request);
    if (made == nullptr) return nullptr;
    CachedPlan& plan = plans.emplace_back();
    plan.key = served;
    plan.configuration = configuration;
    plan.is_of_one_call = is_of_one_call(configuration);
    plan.is_ours = configuration.is_ours();
    plan.slots.reserve(most_slots);
    plan.slots.push_back(&new_slot(std::move(made)));
    plan.last_use = ++uses_;
    return &plan;
}

std::vector<Configuration> Communicator::State::configurations(const CallKey& key,
                                                               const Configuration* first,
                                                               const Range* range,
                                                               const Agreed& agreed,
                                                               Fallbacks fallbacks) {
    std::vector<Configuration> configurations;
    if (first != nullptr) configurations.push_back(*first);
    if (range != nullptr) {
        configurations.push_back(range->choice);
        for (const RangeEvidence& seen : range->evidence)
            if (seen.runner_up) configurations.push_back(*seen.runner_up);
    }
    Call largest = key.call;
    largest.count = octave_of(key.call) / static_cast<std::int64_t>(size_of(key.call.type));
    const auto choices = fallbacks == Fallbacks::near ? best_guesses : default_choices;
    for (Configuration& fallback : choices(largest, kind_of(key, *agreed), world))
        configurations.push_back(std::move(fallback));
    if (is_preloaded) keep_choices_of_program(configurations, world);
    if (key.has_lengths) std::erase_if(configurations, is_of_one_call);
    if (key.mode == CallMode::blocking) return configurations;
    // Prefer plans: a library's call makes no progress in the background. So it comes last of all.
    std::vector<Configuration> in_order;
    for (const bool are_ours : {true, false})
        if (are_ours || fallbacks == Fallbacks::all)
            std::ranges::copy_if(
                configurations, std::back_inserter(in_order),
                [&](const Configuration& one) { return one.is_ours() == are_ours; });
    return in_order;
}

Request::Slot& Communicator::State::new_slot(std::unique_ptr<Operation> operation) {
    if (free_slots_.empty()) free_slots_.push_back(&slots_.emplace_back());
    Request::Slot& slot = *free_slots_.back();
    free_slots_.pop_back();
    slot.owner = this;
    slot.plan = operation->as_plan();
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
    cached.last_use = ++uses_;
    Request::Slot* slot = cached.slots[cached.next];
    const bool may_grow = start > 0 && cached.slots.size() < most_slots && slot->plan != nullptr &&
                          (start <= most_slots || std::has_single_bit(start));
    if (may_grow && !true_on_all_ranks(world, slot->plan->test())) {
        if (auto more = make_operation_on_all(planner, cached.configuration,
                                              request_for(key, settled, {}))) {
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
    const ChosenPlan current = plan_for(key, call);
    Learner::Point& point = learner->begin(key, current.plan->configuration);
    CallKey of_first_arm = of_octave(key);
    of_first_arm.arm = 0;
    keep_choice({of_first_arm, nullptr, &point.arms.front()}, {current.plan});
    const ChoiceKey by_rule{of_octave(key), range_of(key, call)};  // not needed any more
    choices_.erase(of_class(by_rule));
    choices_.erase(by_rule);
    return point;
}

KnownPlan Communicator::State::run_and_learn(const CallArguments& given,
                                             const CheckedCall& checked_call, bool is_recent,
                                             double untimed_ns) {
    CallKey key = checked_call.key;
    const CallArguments& call = checked_call.settled;
    Learner::Point& point = point_of(key, call);
    const Learner::CallShape shape = learner->shape_of(key);
    std::int64_t began = now_ns();
    int arm = learner->arm_for(point, key);
    const auto by_arm = [&] {
        key.arm = static_cast<std::int16_t>(arm);
        return plan_for(key, call, &at(point.arms, arm));
    };
    ChosenPlan chosen = by_arm();
    // The arm cannot run and was replaced by a fallback, which must not be timed as this arm.
    // Exclude it and use the incumbent. Only one arm is tried per call, as the time for it is lost.
    if (!chosen.is_as_requested && arm != point.search.incumbent()) {
        forget_plans_of(at(point.arms, arm));
        learner->exclude(point, arm, ns_since(began));
        began = now_ns();
        arm = point.search.incumbent();
        chosen = by_arm();
    }
    const bool is_new = chosen.plan->uses++ == 0;
    const double making = is_new ? ns_since(began) : 0;
    const std::int64_t made = begin_timing(given, *chosen.plan, is_recent);
    run_plan(*chosen.plan, call);
    learner->record(point, shape, time_since(made, *chosen.plan, untimed_ns), making);
    const KnownPlan known{chosen.plan, chosen.serves_class(), &point, arm};
    tell_if_left(known, shape);
    if (point.search.is_candidate(arm)) return known;
    began = now_ns();
    forget_plans_of(at(point.arms, arm));
    point.lost_ns += ns_since(began);
    return {};
}

// Calls that are not timed use what timed calls have learnt; but non-blocking ones no library's
// call.
KnownPlan Communicator::State::plan_without_learning(CallKey key, const CallArguments& call) {
    Learner::Point* const point = learner ? learner->find(key) : nullptr;
    const auto unlearnt = [&]() -> KnownPlan {
        const ChosenPlan chosen = plan_for(key, call);
        return {chosen.plan, chosen.serves_class()};
    };
    if (point == nullptr) return unlearnt();
    const int arm = point->search.incumbent();
    const Configuration& found = at(point->arms, arm);
    if (!found.is_ours() && key.mode == CallMode::nonblocking) return unlearnt();
    key.arm = static_cast<std::int16_t>(arm);
    const ChosenPlan chosen = plan_for(key, call, &found);
    return {chosen.plan, chosen.serves_class(), point, arm};
}

}  // namespace tutti
