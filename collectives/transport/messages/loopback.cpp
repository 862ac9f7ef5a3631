// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/messages/loopback.hpp"

#include <algorithm>
#include <deque>
#include <vector>

#include "base/clock.hpp"
#include "collectives/transport/fault_injector.hpp"
#include "collectives/transport/messages/message_queue.hpp"

namespace tutti {
namespace {

// A doubled message shifts all that follow, so lengths may differ: the check sees the data.
using Line = MessageQueue<>;

// All lines of one plan.
struct Lines {
    Lines(int size, std::size_t capacity)
        : ranks(size), of_pair(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)) {
        for (Line& line : of_pair) line.make_room_for(capacity);
    }
    Line& between(Rank from, Rank to) {
        return of_pair[static_cast<std::size_t>(from.index * ranks + to.index)];
    }

    int ranks;
    std::vector<Line> of_pair;
};

class LoopbackEndpoint final : public Endpoint {
public:
    LoopbackEndpoint(World& world, std::shared_ptr<Lines> lines, std::size_t most_posts,
                     FaultInjector* mischief)
        : me_(world.rank()), lines_(std::move(lines)), mischief_(mischief) {
        receives_.reserve(most_posts);
        sends_.reserve(most_posts);
    }

    void post_receive(int, Rank from, std::span<std::byte> into) override {
        receives_.push_back({from, into});
    }

    void post_send(int step, Rank to, std::span<const std::byte> message) override {
        Line& line = lines_->between(me_, to);
        const auto harm = mischief_ != nullptr ? mischief_->fault_for(me_, to, step) : std::nullopt;
        if (harm == Fault::Kind::drop) return;
        if (harm == Fault::Kind::delay) {
            held_back_.push_back({to, message, mischief_->delivery_time_ns()});
            return;
        }
        if (harm == Fault::Kind::corrupt) message = mischief_->corrupted_copy(message);
        line.send(message);
        sends_.push_back({to, line.sent()});
        if (harm == Fault::Kind::doubled && !line.is_full())
            line.send(mischief_->kept_copy(message));
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
    FaultInjector* mischief_;
    std::vector<Receive> receives_;
    std::vector<Send> sends_;
    std::deque<Held> held_back_;  // stays empty without a fault
};

class Loopback final : public MessageTransport {
public:
    Loopback(World& world, std::optional<Fault> fault) : world_(world) {
        if (fault) mischief_ = std::make_unique<FaultInjector>(world, *fault);
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
                                                  mischief_.get());
    }

private:
    World& world_;
    std::unique_ptr<FaultInjector> mischief_;
};

}  // namespace

std::unique_ptr<MessageTransport> loopback_transport(World& world, std::optional<Fault> fault) {
    return std::make_unique<Loopback>(world, fault);
}

}  // namespace tutti
