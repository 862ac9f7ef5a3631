// SPDX-License-Identifier: Apache-2.0
#include "collectives/execute/host/lane.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <utility>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "collectives/world/shared_plan_memory.hpp"
#include "collectives/world/signal.hpp"

namespace tutti {

Lane::Lane(const HostBuffers& buffers, StoreChoice& stores, const PlanRequest& request,
           RankProgram program)
    : steps_of_run_(static_cast<std::uint64_t>(request.schedule.steps()) + 1),
      program_(std::move(program)),
      runs_(as_size(request.runs_ahead) + 1),
      buffers_(buffers),
      stores_(stores),
      reaches_peers_(!request.sends_only_messages()) {
    bound_.reserve(runs_);
    for (std::size_t i = 0; i < runs_; ++i)
        bound_.push_back({BoundProgram(buffers, request, program_)});
    run_ = &bound_.front().program;
}

void Lane::connect(World& world, MessageTransport* transport, int number,
                   SharedPlanMemory& memory) {
    if (reaches_peers_)
        memory.ask(sizeof(Head) + runs_ * run_->most_reachable_bytes(),
                   [this, &world](auto shared) { reach_peers(world, std::move(shared)); });
    if (transport != nullptr) {
        most_bytes_ = transport->most_bytes();
        EndpointNeeds needs = run_->needs(most_bytes_);
        needs.plan = number;
        needs.memory = &memory;
        endpoint_ = transport->connect(needs);
    }
    if (!reaches_peers_) add_steps();
}

// Each rank divides its piece alike.
void Lane::reach_peers(const World& world, std::unique_ptr<ReachableMemory> memory) {
    memory_ = std::move(memory);
    for (std::size_t number = 0; number < runs_; ++number) {
        std::vector<PlanMemory> of_ranks(as_size(world.size()));
        for (const Rank rank : all_ranks(world.size())) {
            const std::span<std::byte> piece = memory_->of(rank);
            if (piece.empty()) continue;
            const std::size_t part = (piece.size() - sizeof(Head)) / runs_;
            at(of_ranks, rank) = {piece.data() + sizeof(Head) + number * part,
                                  &head_of(rank).buffers};
        }
        bound_[number].program.place(std::move(of_ranks));
    }
    counter_ = &head_of(buffers_.me).counter;
    sleepers_ = &head_of(buffers_.me).sleepers;
    add_steps();
}

Lane::Head& Lane::head_of(Rank rank) const {
    return *reinterpret_cast<Head*>(memory_->of(rank).data());
}

// Lists the steps and their waits, which are those of all calls.
void Lane::add_steps() {
    assert(runs_ == 1 || program_.settling_late.empty());
    if (runs_ > 1)
        waits_before_begin_ = add_waits(program_.last_readers, static_cast<std::int64_t>(runs_));
    for (const ProgramStep& step : program_.steps) {
        const std::uint32_t before_messages = add_waits(step.before_messages);
        steps_.push_back({step.number, step.has_messages(), step.keeps_results, before_messages,
                          add_waits(step.dependencies)});
    }
    if (runs_ == 1) add_waits(program_.last_readers);
    assert(reaches_peers_ || waits_.empty());  // only then counters are published
    if (buffers_.are_addressed()) look_up_buffers_at_first_waits();
}

std::uint32_t Lane::add_waits(const std::vector<Dependency>& dependencies, std::int64_t runs_ago) {
    const std::int64_t earlier = runs_ago * static_cast<std::int64_t>(steps_of_run_);
    for (const Dependency& dependency : dependencies)
        waits_.push_back({&head_of(dependency.peer).counter, &head_of(dependency.peer).sleepers,
                          dependency.steps - earlier, dependency.peer});
    return static_cast<std::uint32_t>(waits_.size());
}

// A rank waits for a peer before it accesses the peer's buffers, and looks them up in the first of
// these waits: after its last access in a run, the peer may already be changing them.
void Lane::look_up_buffers_at_first_waits() {
    std::vector<char> accesses(as_size(buffers_.spec.ranks()), 0), has_waited = accesses;
    for (const ProgramStep& step : program_.steps)
        for (const ChunkMove& move : step.moves)
            for (const auto* ends : {&move.targets, &move.sources})
                for (const MovePlace& end : *ends)
                    if (end.peer && end.place.is_of_caller()) at(accesses, *end.peer) = 1;
    for (Wait& wait : waits_) {
        if (at(accesses, wait.peer) != 0 && at(has_waited, wait.peer) == 0)
            wait.buffers = &head_of(wait.peer).buffers;
        at(has_waited, wait.peer) = 1;
    }
}

void Lane::bind(const Call& call, bool divides) {
    if (reaches_peers_) publish_buffers();
    call_ = &call;
    divides_ = divides;
    ++binding_;
    bind(bound_[next_]);
}

void Lane::bind(Bound& bound) {
    bound.program.bind(*call_, divides_);
    bound.binding = binding_;
}

// No peer reads the published places between two runs, see PublishedBuffers; the next run's counter
// publishes them.
void Lane::publish_buffers() {
    PublishedBuffers& published = head_of(buffers_.me).buffers;
    for (const auto& [in, buffer] : {std::pair{Place::In::input, &published.input},
                                     std::pair{Place::In::output, &published.output}}) {
        const std::span<std::byte> memory = buffers_.memory->memory(in);
        if (memory.data() == buffer->memory.address &&
            (buffers_.mapped == nullptr || memory.size() == buffer->place.bytes))
            continue;
        *buffer = {{process_, memory.data()}, {}, 0};
        if (buffers_.mapped != nullptr) buffer->place = buffers_.mapped->place_of(memory);
        if (buffers_.registered != nullptr && !memory.empty()) {
            const auto offset = buffers_.registered->offset_of(memory);
            if (!offset)
                throw Error(
                    "the plan works in registered memory, but a buffer lies outside; make a new "
                    "plan for it");
            buffer->registered = *offset;
        }
        ++published.version;
    }
}

void Lane::begin() {
    base_ += steps_of_run_;
    at_ = wait_ = move_ = post_ = 0;
    has_begun_ = has_posted_ = false;
    moving_ns_ = 0;
    Bound& bound = bound_[next_];
    if (++next_ == runs_) next_ = 0;
    if (bound.binding != binding_) bind(bound);
    run_ = &bound.program;
    may_go_ahead();
}

bool Lane::may_go_ahead() {
    if (base_ <= runs_ * steps_of_run_)
        wait_ = waits_before_begin_;  // no earlier run has used this part of the memory
    else if (!are_met(waits_before_begin_))
        return false;
    has_begun_ = true;
    do_moves(run_->prologue_end());
    publish_finished(0);
    return true;
}

void Lane::post(const Step& step) {
    const BoundProgram::StepEnds ends = run_->ends(at_);
    do_moves(ends.packing);
    const auto in_pieces = [&](std::uint32_t end, const auto& post_piece) {
        for (; post_ < end; ++post_) {
            const BoundProgram::Post& post = run_->posts()[post_];
            for (std::size_t done = 0; done < post.bytes; done += most_bytes_)
                post_piece(post.peer, std::span(post.memory.address + done,
                                                std::min(most_bytes_, post.bytes - done)));
        }
    };
    in_pieces(ends.receives, [&](Rank peer, std::span<std::byte> memory) {
        endpoint_->post_receive(step.number, peer, memory);
    });
    in_pieces(ends.sends, [&](Rank peer, std::span<const std::byte> memory) {
        endpoint_->post_send(step.number, peer, memory);
    });
    has_posted_ = true;
}

// Publishes that `steps` steps are finished. A rank that sees the counter may overwrite data read
// by these steps, and sees data written by them (release), unless they keep their results.
void Lane::publish_finished(std::size_t steps) {
    const auto finished = steps < steps_.size() ? static_cast<std::uint64_t>(steps_[steps].number)
                                                : steps_of_run_ - 1;
    if (base_ + finished == published_ || !reaches_peers_) return;
    publish(*counter_, published_ = base_ + finished);
    // A peer that starts to sleep at this moment may be missed here: its sleep has a time limit.
    if (std::atomic_ref(*sleepers_).load(std::memory_order_relaxed) != 0) wake_sleepers(*counter_);
}

bool Lane::are_met(std::uint32_t end) {
    for (; wait_ < end; ++wait_) {
        Wait& wait = waits_[wait_];
        if (static_cast<std::int64_t>(seen(*wait.counter) - base_) < wait.steps) return false;
        if (wait.buffers == nullptr || wait.buffers->version == wait.known_version) continue;
        run_->look_up_buffers(wait.peer);
        wait.known_version = wait.buffers->version;
    }
    return true;
}

void Lane::do_moves(std::uint32_t end, const std::function<void()>* after_reading) {
    if (move_ >= end) return;
    const std::int64_t began = stores_.adapts() ? now_ns() : 0;
    run_->moves().run(move_, end, stores_.streaming_share(), after_reading);
    if (stores_.adapts()) moving_ns_ += now_ns() - began;
    move_ = end;
}

bool Lane::sleep(std::int64_t most_ns) {
    if (has_posted_) return false;
    if (wait_ >= waits_.size()) return true;
    const Wait& wait = waits_[wait_];
    sleep_below(*wait.counter, base_ + static_cast<std::uint64_t>(wait.steps), *wait.sleepers,
                most_ns);
    return true;
}

const Lane::Wait* Lane::open_wait() const {
    const std::size_t end = !has_begun_           ? waits_before_begin_
                            : at_ < steps_.size() ? steps_[at_].waits_end
                                                  : waits_.size();
    return wait_ < end ? &waits_[wait_] : nullptr;
}

std::string_view Lane::way() const {
    if (endpoint_ == nullptr) return "";
    if (open_wait() != nullptr) return "shared memory";
    const auto peer = waits_by_message_for();
    return peer ? endpoint_->way_to(*peer) : "";
}

}  // namespace tutti
