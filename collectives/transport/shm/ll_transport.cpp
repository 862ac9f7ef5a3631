// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <vector>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/transport/shm/host_transport.hpp"
#include "collectives/world/shared_piece.hpp"
#include "collectives/world/signal.hpp"

namespace tutti {
namespace {

std::size_t lines_of(std::size_t bytes) { return divide_up(bytes, LlLine::capacity); }

// The number of lines that the receiver has taken, on a cache line of its own: the sender reads it
// only after a full round.
struct alignas(cache_line) Taken {
    std::uint64_t lines;
};

// One end of the connection from one rank to another: a ring of lines in the receiver's memory.
class LineRing {
public:
    explicit LineRing(std::span<std::byte> memory)
        : taken_(reinterpret_cast<Taken*>(memory.data())),
          ring_(reinterpret_cast<LlLine*>(memory.data() + sizeof(Taken))),
          mask_((memory.size() - sizeof(Taken)) / sizeof(LlLine) - 1) {}

    static std::size_t bytes(std::size_t lines) { return sizeof(Taken) + lines * sizeof(LlLine); }

    /// Sends as much of the message as there is room for, and removes that part from `message`.
    void send(std::span<const std::byte>& message) {
        const std::uint64_t first = next_;
        while (!message.empty()) {
            if (next_ - known_taken_ > mask_) {
                known_taken_ = seen(taken_->lines);
                if (next_ - known_taken_ > mask_) return;
            }
            const std::size_t bytes = std::min(message.size(), LlLine::capacity);
            line().write(message.data(), bytes, next_ + 1);
            ++next_;
            message = message.subspan(bytes);
        }
        // The next message is likely to have the same length.
        for (std::uint64_t i = next_; i < next_ + (next_ - first) && i < next_ + 16; ++i)
            prefetch_to_write(&ring_[i & mask_]);
    }

    /// Takes the part of the message that has arrived, and removes it from `into`.
    void take(std::span<std::byte>& into) {
        while (!into.empty()) {
            const std::size_t bytes = std::min(into.size(), LlLine::capacity);
            if (!line().read(into.data(), bytes, next_ + 1)) return;
            ++next_;
            into = into.subspan(bytes);
            // Done rarely, because it takes the line away from the sender; but before the ring is
            // full.
            if (next_ - known_taken_ > mask_ / 4) publish(taken_->lines, known_taken_ = next_);
        }
    }

private:
    LlLine& line() const { return ring_[next_ & mask_]; }

    Taken* taken_;
    LlLine* ring_;
    std::uint64_t mask_;
    std::uint64_t next_ = 0;         // number of the next line, counted over all runs
    std::uint64_t known_taken_ = 0;  // last read (sender) or published (receiver)
};

// A step has at most one message for each peer, because messages are not cut.
class LlEndpoint final : public Endpoint {
public:
    LlEndpoint(World& world, const EndpointNeeds& needs) {
        sends_.reserve(needs.most_posts);
        receives_.reserve(needs.most_posts);
        // Room for the messages of several runs, so that a sender rarely waits for a slow receiver.
        const std::size_t lines = std::clamp(std::bit_ceil(8 * lines_of(needs.most_bytes)),
                                             std::size_t{64}, std::size_t{1024});
        const auto ranks = as_size(world.size());
        memory_ = shared_piece(world, ranks * LineRing::bytes(lines));
        // Each rank chooses the length of the rings that it receives from.
        const auto ring = [&](std::span<std::byte> piece, Rank sender) {
            const std::size_t bytes = piece.size() / ranks;
            return LineRing(piece.subspan(as_size(sender) * bytes, bytes));
        };
        for (Rank peer; peer.index < world.size(); ++peer.index) {
            to_.push_back(ring(memory_->of(peer), world.rank()));
            from_.push_back(ring(memory_->mine(), peer));
        }
    }

    void post_receive(int, Rank from, std::span<std::byte> into) override {
        receives_.push_back({from, into});
    }

    void post_send(int, Rank to, std::span<const std::byte> message) override {
        at(to_, to).send(message);
        if (!message.empty()) sends_.push_back({to, message});
    }

    bool all_done() override {
        for (std::size_t i = 0; i < sends_.size();) {
            auto& [to, message] = sends_[i];
            at(to_, to).send(message);
            drop_if_done(sends_, i);
        }
        for (std::size_t i = 0; i < receives_.size();) {
            auto& [from, into] = receives_[i];
            at(from_, from).take(into);
            drop_if_done(receives_, i);
        }
        return sends_.empty() && receives_.empty();
    }

    std::optional<Rank> waits_for() const override {
        if (!receives_.empty()) return receives_.front().peer;
        if (!sends_.empty()) return sends_.front().peer;
        return std::nullopt;
    }

private:
    template <class Memory>
    struct Open {
        Rank peer;
        std::span<Memory> left;
    };

    template <class Posts>
    static void drop_if_done(Posts& posts, std::size_t& index) {
        if (!posts[index].left.empty()) {
            ++index;
        } else {
            posts[index] = posts.back();
            posts.pop_back();
        }
    }

    std::unique_ptr<ReachableMemory> memory_;
    std::vector<LineRing> to_, from_;  // by peer
    std::vector<Open<const std::byte>> sends_;
    std::vector<Open<std::byte>> receives_;
};

class LlTransport final : public MessageTransport {
public:
    explicit LlTransport(World& world) : world_(world) {}
    std::string_view name() const override { return "shm-lines"; }
    std::unique_ptr<Endpoint> connect(const EndpointNeeds& needs) override {
        return std::make_unique<LlEndpoint>(world_, needs);
    }
    std::size_t most_bytes() const override { return std::size_t{1} << 62; }

private:
    World& world_;
};

}  // namespace

std::unique_ptr<MessageTransport> ll_transport(World& world) {
    return std::make_unique<LlTransport>(world);
}

}  // namespace tutti
