// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <atomic>
#include <functional>
#include <utility>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "collectives/execute/direct/direct_program.hpp"
#include "collectives/execute/direct/piece.hpp"
#include "collectives/execute/plan/moves.hpp"
#include "collectives/execute/plans.hpp"
#include "collectives/world/signal.hpp"
#include "kernels/sets.hpp"

namespace tutti {
namespace {

class DirectPlan final : public Plan {
public:
    DirectPlan(Progress& progress, const PlanRequest& request)
        : Plan(progress, request),
          me_(world().rank()),
          steps_of_run_(static_cast<std::uint64_t>(request.schedule.steps()) + 1),
          registered_(request.registered),
          unregistered_(request.unregistered),
          mapped_(registered_ == nullptr && unregistered_ == UnregisteredMethod::mapped
                      ? std::make_unique<MappedBuffers>(world())
                      : nullptr),
          has_result_before_(has_result_before(request.call, request.buffers, me_)),
          stores_(request.stores),
          caller_(request.buffers),
          moves_(request.call.type, request.call.op, reachable(request.buffers)) {
        const DirectProgram program = compile_direct(world(), request, buffer_access());
        memory_ = std::make_unique<SharedMemory>(world(), PieceLayout(program).bytes);
        publish_places(program, memory_->mine());
        publish_buffers();
        world().barrier();
        if (request.call.op == Op::avg && reduces(request.call.collective))
            divide_ = find_divide(request.call.type);  // results are read once more at the end
        load(program);
        element_size_ = size_of(request.call.type);
        world().barrier();  // no rank runs before all have read the places
    }

    bool rebinds() const override { return registered_ == nullptr; }

    void rebind(const CallBuffers& buffers) override {
        if (caller_.is(buffers)) return;
        if (!rebinds()) return Plan::rebind(buffers);
        const CallerMemory caller(buffers);
        caller_.check_fits(caller);
        caller_ = caller;
        work_in_buffers();
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

    // Returns the buffers that the plan uses.
    CallBuffers reachable(const CallBuffers& given) {
        return mapped_ ? mapped_->reachable(given) : given;
    }

    void work_in_buffers() {
        moves_.rebind(CallerMemory(reachable(caller_.given())));
        publish_buffers();
    }

    BufferAccess buffer_access() const {
        const CallBuffers& given = caller_.given();
        if (registered_ != nullptr)
            return {registered_place(given.input), registered_place(given.output)};
        return {.input = caller_.place_of(given.input.data()).value_or(Place{Place::In::input}),
                .output = caller_.place_of(given.output.data()).value_or(Place{Place::In::output}),
                .peers_read = unregistered_ != UnregisteredMethod::copy_in_copy_out,
                .peers_write = mapped_ != nullptr};
    }

    Place registered_place(std::span<const std::byte> buffer) const {
        return {Place::In::registered, buffer.empty() ? 0 : registered_->offset_of(buffer).value()};
    }

    Head& head_of(Rank rank) const { return *reinterpret_cast<Head*>(memory_->of(rank).data()); }

    std::byte* address(Rank owner, Place place) const {
        switch (place.in) {
            case Place::In::registered:
                return registered_->of(owner).data() + place.offset;
            case Place::In::plan:
                return memory_->of(owner).data() + PieceLayout::memory + place.offset;
            default:
                return moves_.caller().address(place);
        }
    }

    Moves::Operand operand(const MovePlace& end) const {
        if (!end.peer) return {address(me_, end.place)};
        const Place place = end.place.in == Place::In::published
                                ? published_to(me_, end.place.offset, memory_->of(*end.peer))
                                : end.place;
        const PublishedBuffers& buffers = head_of(*end.peer).buffers;
        if (place.in == Place::In::input) return in_buffer_of_peer(buffers.input, place.offset);
        if (place.in == Place::In::output) return in_buffer_of_peer(buffers.output, place.offset);
        return {address(*end.peer, place)};
    }

    Moves::Operand in_buffer_of_peer(const PublishedBuffers::Buffer& buffer,
                                     std::size_t offset) const {
        std::byte* const begin = mapped_ ? mapped_->address_of(buffer) : nullptr;
        return {begin == nullptr ? nullptr : begin + offset, &buffer.memory, offset};
    }

    // Turns places into addresses, and the program's lists into flat arrays.
    void load(const DirectProgram& program) {
        add_moves(program.prologue);
        prologue_end_ = moves_.size();
        for (const DirectStep& step : program.steps) {
            add_waits(step.dependencies);
            add_moves(step.moves);
            steps_.push_back({step.number, static_cast<std::uint32_t>(waits_.size()), moves_.size(),
                              step.keeps_results});
        }
        add_moves(program.settling_early);
        early_end_ = moves_.size();
        add_waits(program.last_readers);
        add_moves(program.settling_late);
        look_up_buffers_at_first_waits();
        counter_ = &head_of(me_).counter;
        sleepers_ = &head_of(me_).sleepers;
    }

    // A rank waits for a peer before it accesses the peer's buffers, and looks them up in the first
    // of these waits: after its last access in a run, the peer may already be changing them.
    void look_up_buffers_at_first_waits() {
        if (!mapped_) return;
        std::vector<char> has_waited(as_size(world().size()), false);
        for (Wait& wait : waits_) {
            const PublishedBuffers& buffers = head_of(wait.peer).buffers;
            if (!at(has_waited, wait.peer) &&
                (moves_.accesses(buffers.input.memory) || moves_.accesses(buffers.output.memory))) {
                wait.buffers = &buffers;
                wait.known_version = buffers.version;
            }
            at(has_waited, wait.peer) = true;
        }
    }

    void add_waits(const std::vector<Dependency>& dependencies) {
        for (const Dependency& dependency : dependencies)
            waits_.push_back({&head_of(dependency.peer).counter, &head_of(dependency.peer).sleepers,
                              static_cast<std::uint64_t>(dependency.steps), dependency.peer});
    }

    void add_moves(const std::vector<DirectMove>& drafts) {
        moves_.close();
        std::vector<Moves::Operand> outs, sources;
        for (const DirectMove& draft : drafts) {
            outs.clear();
            sources.clear();
            for (const MovePlace& target : draft.targets) outs.push_back(operand(target));
            for (const MovePlace& source : draft.sources) sources.push_back(operand(source));
            moves_.add(outs, sources, draft.bytes, draft.is_final && divide_ == nullptr);
        }
    }

    void begin() override {
        base_ += steps_of_run_;
        wait_ = move_ = 0;
        moving_ns_ = 0;
        if (mapped_) {
            if (mapped_->is_outdated()) work_in_buffers();
            mapped_->copy_in();
        }
        do_moves(prologue_end_);
        publish_finished(0);
    }

    // No peer reads these between two runs, see PublishedBuffers. The next run's counter publishes
    // them.
    void publish_buffers() {
        PublishedBuffers& published = head_of(me_).buffers;
        for (const auto& [in, buffer] : {std::pair{Place::In::input, &published.input},
                                         std::pair{Place::In::output, &published.output}}) {
            const std::span<std::byte> memory = moves_.caller().memory(in);
            if (memory.data() == buffer->memory.address) continue;
            *buffer = {{process_, memory.data()},
                       mapped_ ? mapped_->place_of(memory) : HeapPlace{}};
            ++published.version;
        }
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
        for (const auto* buffer : {&wait.buffers->input, &wait.buffers->output})
            moves_.place_peer(buffer->memory, mapped_->address_of(*buffer));
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
        const std::span<std::byte> output = moves_.caller().given().output;
        if (divide_ != nullptr && !output.empty())
            divide_(output.data(), output.size() / element_size_, world().size());
        if (mapped_ && !has_result_before_) mapped_->copy_out();
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
    std::uint64_t steps_of_run_;  // increment of the counters per run
    const ReachableMemory* registered_;
    UnregisteredMethod unregistered_;  // if there is no registered memory
    std::unique_ptr<MappedBuffers> mapped_;
    bool has_result_before_;
    StoreChoice stores_;  // for final results
    CallerMemory caller_;
    int process_ = getpid();
    std::unique_ptr<SharedMemory> memory_;

    std::vector<Step> steps_;
    std::vector<Wait> waits_;
    Moves moves_;
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
