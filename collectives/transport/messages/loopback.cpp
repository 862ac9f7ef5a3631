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

// Carries a fault out: decides which message is harmed, and keeps the harmed copies.
class FaultInjector {
public:
    FaultInjector(World& world, const Fault& fault) : world_(world), fault_(fault) {}

    // What happens to the message that `me` is sending. A rank that stops does not come back.
    std::optional<Fault::Kind> fault_for(Rank me, Rank to, int step) {
        const bool matches = fault_.from.value_or(me) == me && fault_.to.value_or(to) == to &&
                             fault_.step.value_or(step) == step;
        if (!matches || seen_++ < fault_.nth) return std::nullopt;
        if (fault_.kind == Fault::Kind::stop) stop();
        // One message more moves all later ones back; more would only fill the queue.
        if (fault_.kind == Fault::Kind::doubled && seen_ > fault_.nth + 1) return std::nullopt;
        return fault_.kind;
    }

    std::int64_t delivery_time_ns() const {
        if (fault_.delay_seconds == 0) return std::numeric_limits<std::int64_t>::max();
        return now_ns() + static_cast<std::int64_t>(fault_.delay_seconds * 1e9);
    }

    std::span<const std::byte> kept_copy(std::span<const std::byte> message) {
        return copies_.emplace_back(message.begin(), message.end());
    }

    std::span<const std::byte> corrupted_copy(std::span<const std::byte> message) {
        if (copies_.size() > 64) copies_.pop_front();  // long since received
        auto& copy = copies_.emplace_back(message.begin(), message.end());
        if (!copy.empty()) copy[copy.size() / 2] ^= std::byte{0x10};
        return copy;
    }

private:
    // Silent until another rank gives up on this one.
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

// A doubled message shifts all that follow, so lengths may differ: the check sees the data.
using Line = MessageQueue<>;

// All lines of one plan.
struct Lines {
    Lines(int size, std::size_t capacity) : ranks(size), of_pair(as_size(size) * as_size(size)) {
        for (Line& line : of_pair) line.make_room_for(capacity);
    }
    Line& between(Rank from, Rank to) { return at(of_pair, from.index * ranks + to.index); }

    int ranks;
    std::vector<Line> of_pair;
};

class LoopbackEndpoint final : public Endpoint {
public:
    LoopbackEndpoint(World& world, std::shared_ptr<Lines> lines, std::size_t most_posts,
                     FaultInjector* fault_injector)
        : me_(world.rank()), lines_(std::move(lines)), fault_injector_(fault_injector) {
        receives_.reserve(most_posts);
        sends_.reserve(most_posts);
    }

    void post_receive(int, Rank from, std::span<std::byte> into) override {
        receives_.push_back({from, into});
    }

    void post_send(int step, Rank to, std::span<const std::byte> message) override {
        Line& line = lines_->between(me_, to);
        const auto harm =
            fault_injector_ != nullptr ? fault_injector_->fault_for(me_, to, step) : std::nullopt;
        if (harm == Fault::Kind::drop) return;
        if (harm == Fault::Kind::delay) {
            held_back_.push_back({to, message, fault_injector_->delivery_time_ns()});
            return;
        }
        if (harm == Fault::Kind::corrupt) message = fault_injector_->corrupted_copy(message);
        line.send(message);
        sends_.push_back({to, line.sent()});
        if (harm == Fault::Kind::doubled && !line.is_full())
            line.send(fault_injector_->kept_copy(message));
    }

    bool all_done() override {
        deliver_held_back();
        // In order per sender: a receive behind one that is still open must not overtake it.
        for (std::size_t i = 0; i < receives_.size();) {
            const bool is_next =
                std::none_of(receives_.begin(), receives_.begin() + static_cast<long>(i),
                             [&](const auto& r) { return r.from == receives_[i].from; });
            if (is_next && lines_->between(receives_[i].from, me_).take(receives_[i].into))
                receives_.erase(receives_.begin() + static_cast<long>(i));
            else
                ++i;
        }
        std::erase_if(sends_, [&](const Send& send) {
            return lines_->between(me_, send.to).taken() >= send.number;
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
        for (int from = 0; from < lines_->ranks; ++from) {
            Line& line = lines_->between(Rank{from}, me_);
            if (line.sent() != line.taken())
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
        std::uint64_t number;  // finished when so many messages of the line are taken
    };
    struct Held {
        Rank to;
        std::span<const std::byte> message;
        std::int64_t until_ns;
    };

    void deliver_held_back() {
        while (!held_back_.empty() && now_ns() >= held_back_.front().until_ns) {
            Line& line = lines_->between(me_, held_back_.front().to);
            line.send(held_back_.front().message);
            sends_.push_back({held_back_.front().to, line.sent()});
            held_back_.pop_front();
        }
    }

    Rank me_;
    std::shared_ptr<Lines> lines_;
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

    // Rank 0 makes the lines; the others take a share of them while it waits.
    std::unique_ptr<Endpoint> connect(const EndpointNeeds& needs) override {
        const auto posts = gather_all(world_, needs.most_to_one);
        const std::size_t capacity = *std::max_element(posts.begin(), posts.end()) + 8;
        std::shared_ptr<Lines> lines;
        if (world_.is_first()) lines = std::make_shared<Lines>(world_.size(), capacity);
        const auto* lines_of_first = from_rank0(world_, &lines);
        if (!world_.is_first()) lines = *lines_of_first;
        world_.barrier();
        return std::make_unique<LoopbackEndpoint>(world_, std::move(lines), needs.most_posts,
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
