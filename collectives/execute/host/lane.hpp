// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "collectives/execute/host/bound_program.hpp"
#include "collectives/execute/plan/store_choice.hpp"
#include "collectives/transport/endpoint.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// Executes the steps of a plan's chunks, or of some of them, at its own pace. For each step it
/// posts the messages, waits until all peers are far enough and all messages have ended, does the
/// moves, and publishes in a counter how many steps it has finished.
class Lane {
public:
    /// Allocates memory, see BoundProgram. `buffers` and `stores` are the plan's.
    Lane(const HostBuffers& buffers, StoreChoice& stores, const PlanRequest& request,
         RankProgram program);

    /// Connects to the peers by `memory`, once that is provided, and by messages (if there is a
    /// transport, by endpoint `number`). Collective.
    void connect(World& world, MessageTransport* transport, int number, SharedPlanMemory& memory);

    /// Binds the call in the plan's buffers, see BoundProgram::bind(). It must stay while it runs.
    void bind(const Call& call, bool divides);
    void begin();
    /// Advances as far as possible without waiting; returns true at the end. Calls `step_is_ready`
    /// when a step has all that it waits for, and `step_has_ended` with its number.
    bool advance(const auto& step_is_ready, const auto& step_has_ended);

    bool is_done() const { return at_ > steps_.size(); }
    /// Returns the number of steps done since begin().
    std::size_t steps_done() const { return at_; }
    /// Returns the current step, or the number of steps of the schedule at the end.
    int step() const {
        return at_ < steps_.size() ? steps_[at_].number : static_cast<int>(steps_of_run_ - 1);
    }
    std::optional<Rank> waits_for() const {
        const Wait* const by_memory = open_wait();
        return by_memory != nullptr ? by_memory->peer : waits_by_message_for();
    }
    /// Whether that rank has not begun this run; false if it is reached by messages only.
    bool has_peer_to_begin() const {
        const Wait* const by_memory = open_wait();
        return by_memory != nullptr && seen(*by_memory->counter) < base_;
    }
    /// Names the way to that rank, if ranks are reached in several ways.
    std::string_view way() const;
    /// Sleeps until the counter that it waits for changes, for at most that time. Returns false if
    /// it waits for messages, which move only while they are polled.
    bool sleep(std::int64_t most_ns);
    /// Returns the time spent in moves in this run, if the stores adapt to it.
    std::int64_t moving_ns() const { return moving_ns_; }

    /// Returns the queue with the device's pending work after the last step; null on the host.
    DeviceQueue* queue() { return run_->queue(); }
    /// Returns null without messages.
    Endpoint* endpoint() const { return endpoint_.get(); }

private:
    // Stored at the start of a rank's piece of the lane's shared memory; the program's memory
    // follows. The counter has its own cache line.
    struct Head {
        alignas(cache_line)
            std::uint64_t counter;  // steps finished by the rank, over all runs; see keeps_results
        alignas(cache_line) std::uint64_t sleepers;  // peers that sleep until the counter changes
        PublishedBuffers buffers;                    // for peers that access them
    };
    struct Wait {
        std::uint64_t* counter;
        std::uint64_t* sleepers;
        std::int64_t steps;  // in this run; negative: in an earlier one
        Rank peer;
        // The peer's buffers to look up once this wait is over; null: not needed, or done by an
        // earlier wait.
        const PublishedBuffers* buffers = nullptr;
        std::uint64_t known_version = 0;
    };
    struct Step {
        int number;
        bool has_messages, keeps_results;
        std::uint32_t waits_before_messages, waits_end;
    };

    // Returns the wait for a counter that is open now; null if there is none.
    const Wait* open_wait() const;
    std::optional<Rank> waits_by_message_for() const {
        return has_posted_ ? endpoint_->waits_for() : std::nullopt;
    }
    void reach_peers(const World& world, std::unique_ptr<ReachableMemory> memory);
    Head& head_of(Rank rank) const;
    void add_steps();
    std::uint32_t add_waits(const std::vector<Dependency>& dependencies, std::int64_t runs_ago = 0);
    void look_up_buffers_at_first_waits();
    void publish_buffers();
    struct Bound;
    void bind(Bound& bound);
    bool may_go_ahead();
    void post(const Step& step);
    void publish_finished(std::size_t steps);
    bool are_met(std::uint32_t end);
    void do_moves(std::uint32_t end, const std::function<void()>* after_reading = nullptr);

    // Members that each step needs come first.
    std::size_t at_ = 0;
    std::vector<Step> steps_;
    std::vector<Wait> waits_;
    std::uint32_t wait_ = 0, move_ = 0, post_ = 0;  // the next ones
    bool has_begun_ = false;
    bool has_posted_ = false;           // the messages of the current step
    std::uint64_t* counter_ = nullptr;  // null without peers by memory
    std::uint64_t* sleepers_ = nullptr;
    std::uint64_t base_ = 0, published_ = 0;
    std::uint64_t steps_of_run_;  // increment of the counters per run
    BoundProgram* run_;           // in which the current run works
    std::unique_ptr<Endpoint> endpoint_;

    // Runs use them in turn; each has its own part of the plan's memory. Before a run, peers must
    // have read what is left in its part.
    struct Bound {
        BoundProgram program;
        std::uint64_t binding = 0;
    };
    RankProgram program_;
    std::size_t runs_;  // the length of bound_
    std::vector<Bound> bound_;
    std::size_t next_ = 0;  // the next run uses it
    std::uint32_t waits_before_begin_ = 0;
    std::uint64_t binding_ = 0;  // calls and buffers so far
    const Call* call_ = nullptr;
    bool divides_ = false;

    const HostBuffers& buffers_;
    StoreChoice& stores_;
    bool reaches_peers_;
    std::size_t most_bytes_ = 1;  // longer messages are cut
    std::unique_ptr<ReachableMemory> memory_;
    int process_ = getpid();
    std::int64_t moving_ns_ = 0;
    const std::function<void()> publish_early_ = [this] { publish_finished(at_ + 1); };
};

bool Lane::advance(const auto& step_is_ready, const auto& step_has_ended) {
    if (!has_begun_ && !may_go_ahead()) return false;
    for (; at_ < steps_.size();) {
        const Step& step = steps_[at_];
        if (step.has_messages && !has_posted_) {
            if (!are_met(step.waits_before_messages)) return false;
            post(step);
        }
        const bool is_met = are_met(step.waits_end);
        if (step.has_messages && !endpoint_->all_done()) return false;
        if (!is_met) return false;
        step_is_ready();
        has_posted_ = false;
        do_moves(run_->ends(at_).moves, step.keeps_results ? &publish_early_ : nullptr);
        publish_finished(++at_);
        step_has_ended(step.number);
    }
    if (is_done()) return true;
    do_moves(run_->early_end());
    if (!are_met(static_cast<std::uint32_t>(waits_.size()))) return false;
    do_moves(run_->moves().size());
    ++at_;
    return true;
}

}  // namespace tutti
