// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "collectives/execute/direct/direct_program.hpp"
#include "collectives/execute/plan/moves.hpp"
#include "collectives/execute/plans.hpp"
#include "collectives/world/futex.hpp"
#include "collectives/world/signal.hpp"
#include "kernels/sets.hpp"

namespace tutti {
namespace {

// At the start of a piece. The counter has a line of its own.
struct Head {
    alignas(cache_line) std::uint64_t counter;   // steps finished by the rank, over all runs
    alignas(cache_line) std::uint64_t sleepers;  // peers that sleep until the counter changes
    std::uint64_t published;                     // where the lists of places begin
    // For peers that read the caller's buffers through the kernel: valid from the start of a run
    // until its last reader has finished.
    PeerMemory input, output;
};

// A rank's piece of the plan's shared memory: head | plan memory | places published to each peer.
struct PieceLayout {
    static constexpr std::size_t memory = sizeof(Head);

    explicit PieceLayout(const DirectProgram& program) {
        std::size_t places = 0;
        for (const auto& to_peer : program.published) places += to_peer.size();
        published = memory + program.plan_bytes;
        bytes =
            published + program.published.size() * sizeof(std::uint64_t) + places * sizeof(Place);
    }
    std::size_t published, bytes;
};

// Written once by the owner: for each peer the offset of its list of places, then the lists.
void publish_places(const DirectProgram& program, std::span<std::byte> piece) {
    const PieceLayout layout(program);
    reinterpret_cast<Head*>(piece.data())->published = layout.published;
    auto* starts = reinterpret_cast<std::uint64_t*>(&piece[layout.published]);
    auto* next = reinterpret_cast<Place*>(starts + program.published.size());
    for (std::size_t peer = 0; peer < program.published.size(); ++peer) {
        starts[peer] =
            static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(next) - piece.data());
        for (const Place place : program.published[peer]) *next++ = place;
    }
}

Place published_to(Rank me, std::uint64_t number, std::span<const std::byte> piece_of_peer) {
    const auto* head = reinterpret_cast<const Head*>(piece_of_peer.data());
    const auto* starts = reinterpret_cast<const std::uint64_t*>(&piece_of_peer[head->published]);
    Place place;
    std::memcpy(&place, &piece_of_peer[starts[as_size(me)] + sizeof place * number], sizeof place);
    return place;
}

class DirectPlan final : public Plan {
public:
    DirectPlan(Progress& progress, const PlanRequest& request)
        : Plan(progress, request),
          me_(world().rank()),
          steps_of_run_(static_cast<std::uint64_t>(request.schedule.steps()) + 1),
          registered_(request.registered),
          single_copy_(request.unregistered == UnregisteredMethod::single_copy),
          stores_(request.stores),
          caller_(request.buffers),
          moves_(request.call.type, request.call.op, caller_.given()) {
        const DirectProgram program = compile_direct(world(), request, buffer_access());
        memory_ = std::make_unique<SharedMemory>(world(), PieceLayout(program).bytes);
        publish_places(program, memory_->mine());
        world().barrier();
        if (request.call.op == Op::avg && reduces(request.call.collective))
            divide_ = find_divide(request.call.type);  // results are read once more at the end
        load(program);
        element_size_ = size_of(request.call.type);
        world().barrier();  // nobody runs before all have read the places
    }

    bool rebinds() const override { return registered_ == nullptr; }

    void rebind(const CallBuffers& buffers) override {
        if (caller_.is(buffers)) return;
        if (!rebinds()) return Plan::rebind(buffers);
        const CallerMemory caller(buffers);
        caller_.check_fits(caller);
        moves_.rebind(caller);
        caller_ = caller;
    }

private:
    struct Wait {
        std::uint64_t* counter;
        std::uint64_t* sleepers;
        std::uint64_t steps;  // of this run
        Rank peer;
    };
    struct Step {
        int number;
        std::uint32_t waits_end;
        std::uint32_t moves_end;
    };

    BufferAccess buffer_access() const {
        const CallBuffers& given = caller_.given();
        if (registered_ != nullptr)
            return {registered_place(given.input), registered_place(given.output)};
        return {.input = caller_.place_of(given.input.data()).value_or(Place{Place::In::input}),
                .output = caller_.place_of(given.output.data()).value_or(Place{Place::In::output}),
                .peers_read = single_copy_,
                .peers_write = false};
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
                return caller_.address(place);
        }
    }

    // What peers publish in their callers' buffers is read through the kernel.
    Moves::Source source_of(const MovePlace& source) const {
        if (!source.peer) return {address(me_, source.place)};
        const Place place = published_to(me_, source.place.offset, memory_->of(*source.peer));
        const Head& head = head_of(*source.peer);
        if (place.in == Place::In::input) return {nullptr, &head.input, place.offset};
        if (place.in == Place::In::output) return {nullptr, &head.output, place.offset};
        return {address(*source.peer, place)};
    }

    // Places become addresses, and the lists of the program flat arrays.
    void load(const DirectProgram& program) {
        add_moves(program.prologue);
        prologue_end_ = moves_.size();
        for (const DirectStep& step : program.steps) {
            add_waits(step.dependencies);
            add_moves(step.moves);
            steps_.push_back(
                {step.number, static_cast<std::uint32_t>(waits_.size()), moves_.size()});
        }
        add_moves(program.settling_early);
        early_end_ = moves_.size();
        add_waits(program.last_readers);
        add_moves(program.settling_late);
        counter_ = &head_of(me_).counter;
        sleepers_ = &head_of(me_).sleepers;
    }

    void add_waits(const std::vector<Dependency>& dependencies) {
        for (const Dependency& dependency : dependencies)
            waits_.push_back({&head_of(dependency.peer).counter, &head_of(dependency.peer).sleepers,
                              static_cast<std::uint64_t>(dependency.steps), dependency.peer});
    }

    void add_moves(const std::vector<DirectMove>& drafts) {
        moves_.close();
        std::vector<std::byte*> outs;
        std::vector<Moves::Source> sources;
        for (const DirectMove& draft : drafts) {
            outs.clear();
            sources.clear();
            for (const MovePlace& target : draft.targets)
                outs.push_back(address(target.peer.value_or(me_), target.place));
            for (const MovePlace& source : draft.sources) sources.push_back(source_of(source));
            moves_.add(outs, sources, draft.bytes, draft.is_final && divide_ == nullptr);
        }
    }

    void begin() override {
        base_ += steps_of_run_;
        wait_ = move_ = 0;
        moving_ns_ = 0;
        if (single_copy_) publish_buffers();
        do_moves(prologue_end_);
        publish_progress();
    }

    // No peer reads those of the run before any more: a run ends after its last reader.
    void publish_buffers() {
        Head& head = head_of(me_);
        head.input = {process_, caller_.address({Place::In::input})};
        head.output = {process_, caller_.address({Place::In::output})};
    }

    // Publishes that all steps before the current one are finished. Whoever sees the counter also
    // sees what they wrote (release), and may overwrite what they read.
    void publish_progress() {
        const auto finished = at_ < steps_.size() ? static_cast<std::uint64_t>(steps_[at_].number)
                                                  : steps_of_run_ - 1;
        publish(*counter_, base_ + finished);
        // A peer that begins to sleep at this moment may be missed here: its sleep has a time
        // limit.
        if (std::atomic_ref(*sleepers_).load(std::memory_order_relaxed) != 0)
            wake_sleepers(*counter_);
    }

    bool are_met(std::uint32_t end) {
        for (; wait_ < end; ++wait_) {
            const Wait& wait = waits_[wait_];
            if (seen(*wait.counter) < base_ + wait.steps) return false;
        }
        return true;
    }

    bool advance() override {
        for (; at_ < steps_.size();) {
            const Step& step = steps_[at_];
            if (!are_met(step.waits_end)) return false;
            step_is_ready();
            do_moves(step.moves_end);
            ++at_;
            publish_progress();
            step_has_ended(step.number);
        }
        do_moves(early_end_);
        if (!are_met(static_cast<std::uint32_t>(waits_.size()))) return false;
        do_moves(moves_.size());
        finish();
        return true;
    }

    void do_moves(std::uint32_t end) {
        if (move_ >= end) return;
        const std::int64_t began = stores_.adapts() ? now_ns() : 0;
        moves_.run(move_, end, stores_.streaming_share());
        if (stores_.adapts()) moving_ns_ += now_ns() - began;
        move_ = end;
    }

    void finish() {
        if (stores_.adapts()) stores_.took(moving_ns_);
        const std::span<std::byte> output = caller_.given().output;
        if (divide_ != nullptr && !output.empty())
            divide_(output.data(), output.size() / element_size_, world().size());
    }

    void sleep() override {
        if (wait_ >= waits_.size()) return;
        const Wait& wait = waits_[wait_];
        const std::atomic_ref sleepers(*wait.sleepers);
        sleepers.fetch_add(1);
        const std::uint64_t now = seen(*wait.counter);
        if (now < base_ + wait.steps) sleep_while(*wait.counter, now, longest_sleep_ns);
        sleepers.fetch_sub(1);
    }

    ProgressState progress_state() const override {
        ProgressState now;
        now.step = at_ < steps_.size() ? steps_[at_].number : static_cast<int>(steps_of_run_ - 1);
        if (wait_ < waits_.size()) now.waits_for = waits_[wait_].peer;
        return now;
    }

    Rank me_;
    std::uint64_t steps_of_run_;  // by how much a run moves the counters on
    const ReachableMemory* registered_;
    bool single_copy_;    // peers read unregistered memory through the kernel
    StoreChoice stores_;  // of final results
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
    std::uint64_t base_ = 0;
    std::uint32_t wait_ = 0;  // next wait and next move
    std::uint32_t move_ = 0;
    std::int64_t moving_ns_ = 0;  // in this run
};

}  // namespace

std::unique_ptr<Plan> direct_plan(Progress& progress, const PlanRequest& request) {
    return std::make_unique<DirectPlan>(progress, request);
}

}  // namespace tutti
