// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <atomic>
#include <functional>
#include <utility>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "collectives/execute/direct/direct_program.hpp"
#include "collectives/execute/direct/mapped_buffers.hpp"
#include "collectives/execute/plan/moves.hpp"
#include "collectives/execute/plans.hpp"
#include "collectives/world/shared_piece.hpp"
#include "collectives/world/signal.hpp"
#include "kernels/sets.hpp"

namespace tutti {
namespace {

// Stored at the start of a rank's piece of the plan's shared memory; the program's memory follows.
// The counter has its own cache line.
struct Head {
    alignas(cache_line)
        std::uint64_t counter;  // steps finished by the rank, over all runs; see keeps_results
    alignas(cache_line) std::uint64_t sleepers;  // peers that sleep until the counter changes
    PublishedBuffers buffers;                    // for peers that access them
};

class DirectPlan final : public Plan {
public:
    DirectPlan(Progress& progress, const PlanRequest& request)
        : Plan(progress, request),
          me_(world().rank()),
          chunks_(request.schedule.chunks()),
          spec_(request.call.collective, world().size(), request.call.root),
          steps_of_run_(static_cast<std::uint64_t>(request.schedule.steps()) + 1),
          registered_(request.registered),
          method_(request.method),
          mapped_(method_ == TransferMethod::mapped ? std::make_unique<MappedBuffers>(world())
                                                    : nullptr),
          program_(compile_direct(request, me_, buffer_access())),
          stores_(request.stores),
          moves_(request.call.type, request.call.op) {
        const std::size_t block = as_size(request.call.count) * size_of(request.call.type);
        memory_ = shared_piece(world(),
                               sizeof(Head) + most_program_bytes(program_, spec_, chunks_, block));
        begins_.assign(as_size(world().size()), {});
        for (const Rank peer : all_ranks(world().size()))  // until the first wait for the peer
            at(begins_, peer) = {memory_->of(peer).data(), memory_->of(peer).data()};
        counter_ = &head_of(me_).counter;
        sleepers_ = &head_of(me_).sleepers;
        add_steps();
    }

private:
    struct Wait {
        std::uint64_t* counter;
        std::uint64_t* sleepers;
        std::uint64_t steps;  // in this run
        Rank peer;
        // The peer's buffers to look up once this wait is over; null: not needed, or done by an
        // earlier wait.
        const PublishedBuffers* buffers = nullptr;
        std::uint64_t known_version = 0;
    };
    struct Step {
        int number;
        std::uint32_t waits_end;
        std::uint32_t moves_end;
        bool keeps_results;
    };
    // Where this process finds the buffers of a peer.
    struct Begins {
        std::byte *input = nullptr, *output = nullptr;
    };

    BufferAccess buffer_access() const {
        const bool is_reachable = registered_ != nullptr || mapped_ != nullptr;
        return {.peers_read = method_ != TransferMethod::copy_in_copy_out,
                .peers_write = is_reachable};
    }

    Head& head_of(Rank rank) const { return *reinterpret_cast<Head*>(memory_->of(rank).data()); }

    // Lists the steps and their waits, which are those of all calls.
    void add_steps() {
        for (const DirectStep& step : program_.steps) {
            add_waits(step.dependencies);
            steps_.push_back(
                {step.number, static_cast<std::uint32_t>(waits_.size()), 0, step.keeps_results});
        }
        add_waits(program_.last_readers);
        if (registered_ != nullptr || mapped_) look_up_buffers_at_first_waits();
    }

    void add_waits(const std::vector<Dependency>& dependencies) {
        for (const Dependency& dependency : dependencies)
            waits_.push_back({&head_of(dependency.peer).counter, &head_of(dependency.peer).sleepers,
                              static_cast<std::uint64_t>(dependency.steps), dependency.peer});
    }

    // A rank waits for a peer before it accesses the peer's buffers, and looks them up in the first
    // of these waits: after its last access in a run, the peer may already be changing them.
    void look_up_buffers_at_first_waits() {
        std::vector<char> accesses(as_size(world().size()), 0), has_waited = accesses;
        for (const DirectStep& step : program_.steps)
            for (const DirectMove& move : step.moves)
                for (const auto* ends : {&move.targets, &move.sources})
                    for (const MovePlace& end : *ends)
                        if (end.peer && end.place.is_of_caller()) at(accesses, *end.peer) = 1;
        for (Wait& wait : waits_) {
            if (at(accesses, wait.peer) != 0 && at(has_waited, wait.peer) == 0)
                wait.buffers = &head_of(wait.peer).buffers;
            at(has_waited, wait.peer) = 1;
        }
    }

    // Turns the program's places into addresses for the call.
    void adapt() override {
        work_in_buffers();
        const bool divides = call().op == Op::avg && reduces(call().collective);
        divide_ = divides ? find_divide(call().type) : nullptr;  // results are read once more
        element_size_ = size_of(call().type);
        const Layout layout(call(), spec_, me_, chunks_);
        const ProgramMemory memory(
            program_, layout,
            as_size(world().size()) * as_size(call().count) * size_of(call().type));
        moves_.restart(call().type, call().op);
        const auto add = [&](const std::vector<DirectMove>& moves) {
            add_moves(moves, layout, memory);
            return moves_.size();
        };
        prologue_end_ = add(program_.prologue);
        for (std::size_t i = 0; i < steps_.size(); ++i)
            steps_[i].moves_end = add(program_.steps[i].moves);
        early_end_ = add(program_.settling_early);
        add(program_.settling_late);
    }

    void add_moves(const std::vector<DirectMove>& moves, const Layout& layout,
                   const ProgramMemory& memory) {
        moves_.close();
        for (const DirectMove& move : moves) {
            const std::size_t bytes = layout.bytes_of(move.chunk);
            if (bytes == 0) continue;
            outs_.clear();
            sources_.clear();
            for (const MovePlace& target : move.targets)
                outs_.push_back(operand(target, layout, memory));
            for (const MovePlace& source : move.sources)
                sources_.push_back(operand(source, layout, memory));
            moves_.add(outs_, sources_, bytes, move.is_final && divide_ == nullptr);
        }
    }

    Moves::Operand operand(const MovePlace& end, const Layout& layout,
                           const ProgramMemory& memory) const {
        const auto [in, number] = end.place;
        const Rank owner = end.peer.value_or(me_);
        const Layout of_owner = owner == me_ ? layout : Layout(call(), spec_, owner, chunks_);
        if (!end.place.is_of_caller()) {
            return {memory_->of(owner).data() + sizeof(Head) +
                    memory.offset_of(end.place, of_owner)};
        }
        const bool is_input = in == ChunkPlace::In::input;
        const std::size_t offset = of_owner.offset_of(
            side_of(end.place, is_in_place(), Positions(spec_, owner, chunks_)), number);
        if (!end.peer)
            return {buffers_.memory(is_input ? Place::In::input : Place::In::output).data() +
                    offset};
        const PublishedBuffers& theirs = head_of(*end.peer).buffers;
        const auto& buffer = is_input ? theirs.input : theirs.output;
        if (registered_ == nullptr && !mapped_)  // the kernel reads them
            return {nullptr, &buffer.memory, offset};
        const Begins& begins = at(begins_, *end.peer);
        return {(is_input ? begins.input : begins.output) + offset, &buffer.memory, offset};
    }

    // Places the run in the caller's buffers, or in copies that peers reach. No peer reads the
    // published places between two runs, see PublishedBuffers; the next run's counter publishes
    // them.
    void work_in_buffers() {
        buffers_ = mapped_ ? CallerMemory(mapped_->reachable(caller().given())) : caller();
        PublishedBuffers& published = head_of(me_).buffers;
        for (const auto& [in, buffer] : {std::pair{Place::In::input, &published.input},
                                         std::pair{Place::In::output, &published.output}}) {
            const std::span<std::byte> memory = buffers_.memory(in);
            if (memory.data() == buffer->memory.address &&
                (!mapped_ || memory.size() == buffer->place.bytes))
                continue;
            *buffer = {{process_, memory.data()}, {}, 0};
            if (mapped_) buffer->place = mapped_->place_of(memory);
            if (registered_ != nullptr && !memory.empty())
                buffer->registered = registered_offset(memory);
            ++published.version;
        }
    }

    std::size_t registered_offset(std::span<const std::byte> memory) const {
        const auto offset = registered_->offset_of(memory);
        if (!offset)
            throw Error(what() +
                        " works in registered memory, but a buffer lies outside; make a new plan "
                        "for it");
        return *offset;
    }

    void begin() override {
        base_ += steps_of_run_;
        wait_ = move_ = 0;
        moving_ns_ = 0;
        if (mapped_) {
            if (mapped_->is_outdated()) adapt();
            mapped_->copy_in();
        }
        do_moves(prologue_end_);
        publish_finished(0);
    }

    // Publishes that `steps` steps are finished. A rank that sees the counter may overwrite data
    // read by these steps, and sees data written by them (release), unless they keep their results.
    void publish_finished(std::size_t steps) {
        const auto finished = steps < steps_.size()
                                  ? static_cast<std::uint64_t>(steps_[steps].number)
                                  : steps_of_run_ - 1;
        if (base_ + finished == published_) return;
        publish(*counter_, published_ = base_ + finished);
        // A peer that starts to sleep at this moment may be missed here: its sleep has a time
        // limit.
        if (std::atomic_ref(*sleepers_).load(std::memory_order_relaxed) != 0)
            wake_sleepers(*counter_);
    }

    bool are_met(std::uint32_t end) {
        for (; wait_ < end; ++wait_) {
            Wait& wait = waits_[wait_];
            if (seen(*wait.counter) < base_ + wait.steps) return false;
            if (wait.buffers != nullptr && wait.buffers->version != wait.known_version)
                look_up_buffers(wait);
        }
        return true;
    }

    void look_up_buffers(Wait& wait) {
        const auto begin_of = [&](const PublishedBuffers::Buffer& buffer) {
            return registered_ != nullptr ? registered_->of(wait.peer).data() + buffer.registered
                                          : mapped_->address_of(buffer);
        };
        const Begins begins{begin_of(wait.buffers->input), begin_of(wait.buffers->output)};
        moves_.place_peer(wait.buffers->input.memory, begins.input);
        moves_.place_peer(wait.buffers->output.memory, begins.output);
        at(begins_, wait.peer) = begins;
        wait.known_version = wait.buffers->version;
    }

    bool advance() override {
        for (; at_ < steps_.size();) {
            const Step& step = steps_[at_];
            if (!are_met(step.waits_end)) return false;
            step_is_ready();
            do_moves(step.moves_end, step.keeps_results ? &publish_early_ : nullptr);
            publish_finished(++at_);
            step_has_ended(step.number);
        }
        do_moves(early_end_);
        if (!are_met(static_cast<std::uint32_t>(waits_.size()))) return false;
        do_moves(moves_.size());
        finish();
        return true;
    }

    void do_moves(std::uint32_t end, const std::function<void()>* after_reading = nullptr) {
        if (move_ >= end) return;
        const std::int64_t began = stores_.adapts() ? now_ns() : 0;
        moves_.run(move_, end, stores_.streaming_share(), after_reading);
        if (stores_.adapts()) moving_ns_ += now_ns() - began;
        move_ = end;
    }

    void finish() {
        if (stores_.adapts()) stores_.record(moving_ns_);
        const std::span<std::byte> output = buffers_.given().output;
        if (divide_ != nullptr && !output.empty())
            divide_(output.data(), output.size() / element_size_, world().size());
        if (mapped_ && !has_result_before(call(), caller().given(), me_)) mapped_->copy_out();
    }

    void sleep() override {
        if (wait_ >= waits_.size()) return;
        const Wait& wait = waits_[wait_];
        sleep_below(*wait.counter, base_ + wait.steps, *wait.sleepers, longest_sleep_ns);
    }

    ProgressState progress_state() const override {
        ProgressState now;
        now.step = at_ < steps_.size() ? steps_[at_].number : static_cast<int>(steps_of_run_ - 1);
        if (wait_ < waits_.size()) now.waits_for = waits_[wait_].peer;
        return now;
    }

    Rank me_;
    int chunks_;
    CollectiveSpec spec_;
    std::uint64_t steps_of_run_;  // increment of the counters per run
    const ReachableMemory* registered_;
    TransferMethod method_;
    std::unique_ptr<MappedBuffers> mapped_;
    DirectProgram program_;
    StoreChoice stores_;    // for final results
    CallerMemory buffers_;  // the run works in them
    int process_ = getpid();
    std::unique_ptr<ReachableMemory> memory_;
    std::vector<Begins> begins_;  // by peer

    std::vector<Step> steps_;
    std::vector<Wait> waits_;
    Moves moves_;
    std::vector<Moves::Operand> outs_, sources_;  // operands of the move that is added
    std::uint32_t prologue_end_ = 0, early_end_ = 0;
    DivideKernel divide_ = nullptr;
    std::size_t element_size_ = 1;

    std::uint64_t* counter_ = nullptr;
    std::uint64_t* sleepers_ = nullptr;
    std::uint64_t base_ = 0, published_ = 0;
    const std::function<void()> publish_early_ = [this] { publish_finished(at_ + 1); };
    std::uint32_t wait_ = 0;  // next wait and next move
    std::uint32_t move_ = 0;
    std::int64_t moving_ns_ = 0;  // in this run
};

}  // namespace

std::unique_ptr<Plan> direct_plan(Progress& progress, const PlanRequest& request) {
    return std::make_unique<DirectPlan>(progress, request);
}

}  // namespace tutti
