// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/messages/loopback.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <vector>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "collectives/transport/messages/message_queue.hpp"

namespace tutti {
namespace {

// Injects one fault: decides which messages it affects, and owns the copies that are sent instead.
class FaultInjector {
public:
    FaultInjector(World& world, const Fault& fault) : world_(world), fault_(fault) {}

    // Returns the fault for the message that `me` is sending. A stopped rank does not return.
    std::optional<Fault::Kind> fault_for(Rank me, Rank to, int step) {
        const bool matches = fault_.from.value_or(me) == me && fault_.to.value_or(to) == to &&
                             fault_.step.value_or(step) == step;
        if (!matches || seen_++ < fault_.nth) return std::nullopt;
        if (fault_.kind == Fault::Kind::stop) stop();
        // One extra message already shifts all later ones; more would only fill the queue.
        if (fault_.kind == Fault::Kind::doubled && seen_ > fault_.nth + 1) return std::nullopt;
        return fault_.kind;
    }

    std::int64_t delivery_time_ns() const {
        if (fault_.delay_seconds == 0) return std::numeric_limits<std::int64_t>::max();
        return now_ns() + static_cast<std::int64_t>(fault_.delay_seconds * 1e9);
    }

    std::span<const std::byte> owned_copy(std::span<const std::byte> message) {
        return copies_.emplace_back(message.begin(), message.end());
    }

    std::span<const std::byte> corrupted_copy(std::span<const std::byte> message) {
        if (copies_.size() > 64) copies_.pop_front();  // received long ago
        auto& copy = copies_.emplace_back(message.begin(), message.end());
        if (!copy.empty()) copy[copy.size() / 2] ^= std::byte{0x10};
        return copy;
    }

private:
    // Stays silent until another rank gives up on this one.
    [[noreturn]] void stop() {
        world_.hang_timeout = 1e6;
        world_.barrier();
        throw OthersFailed();
    }

    World& world_;
    Fault fault_;
    long seen_ = 0;
    std::deque<std::vector<std::byte>> copies_;
};

// A doubled message shifts all later ones, so lengths may differ: the check of the data detects
// that.
using PairQueue = MessageQueue<>;

// The queues of one plan, by sender and receiver.
struct PairQueues {
    PairQueues(int size, std::size_t capacity)
        : ranks(size), of_pair(as_size(size) * as_size(size)) {
        for (PairQueue& queue : of_pair) queue.make_room_for(capacity);
    }
    PairQueue& between(Rank from, Rank to) { return at(of_pair, from.index * ranks + to.index); }

    int ranks;
    std::vector<PairQueue> of_pair;
};

class LoopbackEndpoint final : public Endpoint {
public:
    LoopbackEndpoint(World& world, std::shared_ptr<PairQueues> queues, std::size_t most_posts,
                     FaultInjector* fault_injector)
        : me_(world.rank()), queues_(std::move(queues)), fault_injector_(fault_injector) {
        receives_.reserve(most_posts);
        sends_.reserve(most_posts);
    }

    void post_receive(int, Rank from, std::span<std::byte> into) override {
        receives_.push_back({from, into});
    }

    void post_send(int step, Rank to, std::span<const std::byte> message) override {
        PairQueue& queue = queues_->between(me_, to);
        const auto fault =
            fault_injector_ != nullptr ? fault_injector_->fault_for(me_, to, step) : std::nullopt;
        if (fault == Fault::Kind::drop) return;
        if (fault == Fault::Kind::delay) {
            held_back_.push_back({to, message, fault_injector_->delivery_time_ns()});
            return;
        }
        if (fault == Fault::Kind::corrupt) message = fault_injector_->corrupted_copy(message);
        queue.send(message);
        sends_.push_back({to, queue.sent()});
        if (fault == Fault::Kind::doubled && !queue.is_full())
            queue.send(fault_injector_->owned_copy(message));
    }

    bool all_done() override {
        deliver_held_back();
        // Keeps the order of each sender: a receive must not overtake an earlier one that is still
        // open.
        for (std::size_t i = 0; i < receives_.size();) {
            const bool is_next =
                std::none_of(receives_.begin(), receives_.begin() + static_cast<long>(i),
                             [&](const auto& r) { return r.from == receives_[i].from; });
            if (is_next && queues_->between(receives_[i].from, me_).take(receives_[i].into))
                receives_.erase(receives_.begin() + static_cast<long>(i));
            else
                ++i;
        }
        std::erase_if(sends_, [&](const Send& send) {
            return queues_->between(me_, send.to).taken() >= send.number;
        });
        return receives_.empty() && sends_.empty() && held_back_.empty();
    }

    std::optional<Rank> waits_for() const override {
        if (!receives_.empty()) return receives_.front().from;
        if (!sends_.empty()) return sends_.front().to;
        if (!held_back_.empty()) return held_back_.front().to;
        return std::nullopt;
    }

    std::optional<std::string> left_over() const override {
        for (int from = 0; from < queues_->ranks; ++from) {
            PairQueue& queue = queues_->between(Rank{from}, me_);
            if (queue.sent() != queue.taken())
                return "a message from rank " + std::to_string(from) + " to rank " +
                       std::to_string(me_.index) + " was never received";
        }
        return std::nullopt;
    }

private:
    struct Receive {
        Rank from;
        std::span<std::byte> into;
    };
    struct Send {
        Rank to;
        std::uint64_t number;  // finished when this many messages of the queue are taken
    };
    struct Held {
        Rank to;
        std::span<const std::byte> message;
        std::int64_t until_ns;
    };

    void deliver_held_back() {
        while (!held_back_.empty() && now_ns() >= held_back_.front().until_ns) {
            PairQueue& queue = queues_->between(me_, held_back_.front().to);
            queue.send(held_back_.front().message);
            sends_.push_back({held_back_.front().to, queue.sent()});
            held_back_.pop_front();
        }
    }

    Rank me_;
    std::shared_ptr<PairQueues> queues_;
    FaultInjector* fault_injector_;
    std::vector<Receive> receives_;
    std::vector<Send> sends_;
    std::deque<Held> held_back_;  // stays empty without a fault
};

class Loopback final : public MessageTransport {
public:
    Loopback(World& world, std::optional<Fault> fault) : world_(world) {
        if (fault) fault_injector_ = std::make_unique<FaultInjector>(world, *fault);
    }

    std::string_view name() const override { return "loopback"; }

    // Rank 0 makes the queues; the others copy its shared pointer while it waits.
    std::unique_ptr<Endpoint> connect(const EndpointNeeds& needs) override {
        const auto posts = gather_all(world_, needs.most_to_one);
        const std::size_t capacity = *std::max_element(posts.begin(), posts.end()) + 8;
        std::shared_ptr<PairQueues> queues;
        if (world_.is_first()) queues = std::make_shared<PairQueues>(world_.size(), capacity);
        const auto* queues_of_first = from_rank0(world_, &queues);
        if (!world_.is_first()) queues = *queues_of_first;
        world_.barrier();
        return std::make_unique<LoopbackEndpoint>(world_, std::move(queues), needs.most_posts,
                                                  fault_injector_.get());
    }

private:
    World& world_;
    std::unique_ptr<FaultInjector> fault_injector_;
};

}  // namespace

std::unique_ptr<MessageTransport> loopback_transport(World& world, std::optional<Fault> fault) {
    return std::make_unique<Loopback>(world, fault);
}

}  // namespace tutti
