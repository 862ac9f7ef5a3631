// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>

#include "base/index.hpp"
#include "collectives/transport/gpu/staged.hpp"
#include "collectives/world/shared_memory.hpp"
#include "collectives/world/signal.hpp"

namespace tutti {
namespace {

// The number of pieces that one end of a ring has finished, on a cache line of its own.
struct alignas(cache_line) Count {
    std::uint64_t pieces;
};

// The path of messages from one rank to another: slots for pieces, filled and emptied in turn.
class Ring {
public:
    struct Shape {
        std::size_t slots, piece;
        std::size_t bytes() const { return sizeof(Head) + slots * piece; }
    };

    Ring(std::byte* memory, Shape shape)
        : head_(reinterpret_cast<Head*>(memory)), slots_(memory + sizeof(Head)), shape_(shape) {}

    const Shape& shape() const { return shape_; }
    std::uint64_t& filled() const { return head_->filled.pieces; }
    std::uint64_t& emptied() const { return head_->emptied.pieces; }
    std::byte* slot(std::uint64_t piece) const {
        return slots_ + piece % shape_.slots * shape_.piece;
    }

private:
    struct alignas(256) Head {  // slots begin at an alignment that copies fast
        Count filled, emptied;
    };

    Head* head_;
    std::byte* slots_;
    Shape shape_;
};

// One end of a ring. It enqueues the copy of a piece as soon as its slot is free (or full), and
// signals the peer when the device has finished it.
class End {
public:
    enum class Direction { out, in };

    End(Direction direction, Rank peer, Ring ring, std::size_t most_posts)
        : direction_(direction), peer_(peer), ring_(ring), marks_(ring.shape().slots) {
        messages_.reserve(most_posts);
    }

    Direction direction() const { return direction_; }
    Rank peer() const { return peer_; }
    bool is_over() const { return current_ == messages_.size() && published_ == enqueued_; }
    // Whether pieces arrived and were never received.
    bool has_left_over() const {
        return direction_ == Direction::in && seen(ring_.filled()) != enqueued_;
    }

    void post(std::span<std::byte> message) { messages_.push_back(message); }
    void forget() {
        messages_.clear();
        current_ = 0;
    }

    // Advances as far as possible without waiting.
    void advance(DeviceQueue& queue) {
        while (current_ < messages_.size() && is_ready()) {
            auto& rest = messages_[current_];
            const std::size_t bytes = std::min(rest.size(), ring_.shape().piece);
            std::byte* const slot = ring_.slot(enqueued_);
            if (direction_ == Direction::out)
                queue.copy(slot, rest.data(), bytes);
            else
                queue.copy(rest.data(), slot, bytes);
            marks_[enqueued_++ % marks_.size()] = queue.mark();
            rest = rest.subspan(bytes);
            if (rest.empty()) ++current_;
        }
        while (published_ < enqueued_ && queue.is_past(marks_[published_ % marks_.size()]))
            publish(direction_ == Direction::out ? ring_.filled() : ring_.emptied(), ++published_);
    }

private:
    // Whether the slot of the next piece is free (sender) or filled (receiver).
    bool is_ready() const {
        return direction_ == Direction::out ? enqueued_ - seen(ring_.emptied()) < marks_.size()
                                            : enqueued_ < seen(ring_.filled());
    }

    Direction direction_;
    Rank peer_;
    Ring ring_;
    std::vector<std::span<std::byte>> messages_;  // the rest of each; empty before current_
    std::size_t current_ = 0;
    std::uint64_t enqueued_ = 0, published_ = 0;  // pieces, counted over all runs
    std::vector<DeviceQueue::Mark> marks_;
};

// The pairs of ranks that use a ring, and the position of each ring in its owner's memory.
class Places {
public:
    Places(World& world, const std::vector<Rank>& peers)
        : ranks_(as_size(world.size())), uses_(ranks_ * ranks_) {
        std::vector<std::byte> mine(ranks_);
        for (const Rank peer : peers) at(mine, peer) = std::byte{1};
        world.all_gather(mine, uses_);
    }

    std::size_t place(Rank of, Rank peer) const { return rings_before(of, peer.index); }
    std::size_t rings(Rank of) const { return rings_before(of, static_cast<int>(ranks_)); }
    std::size_t most_rings() const {
        std::size_t most = 0;
        for (std::size_t rank = 0; rank < ranks_; ++rank)
            most = std::max(most, rings(Rank{static_cast<int>(rank)}));
        return most;
    }

private:
    std::size_t rings_before(Rank of, int peer) const {
        const auto row = uses_.begin() + static_cast<long>(of.index) * static_cast<long>(ranks_);
        return as_size(std::count(row, row + peer, std::byte{1}));
    }

    std::size_t ranks_;
    std::vector<std::byte> uses_;  // by rank and peer
};

class SharedRingsEndpoint final : public Endpoint {
public:
    SharedRingsEndpoint(World& world, MemoryDevice& device, const EndpointNeeds& needs,
                        const Staging& staging)
        : plan_(*needs.queue), out_(device.queue()), in_(device.queue()), end_to_(needs.peers) {
        const Places places(world, needs.peers);
        const Ring::Shape shape{
            as_size(staging.slots),
            agreed_piece(world, staging, places.most_rings(), needs.most_bytes)};
        const Rank me = world.rank();
        memory_ = std::make_unique<SharedMemory>(world, places.rings(me) * shape.bytes());
        std::vector<Rank> seen_here = needs.peers;
        seen_here.push_back(me);
        known_ = make_on_all_ranks(world, "memory shared with GPUs", [&] {
            std::vector<std::shared_ptr<void>> known;
            for (const Rank rank : seen_here)
                known.push_back(device.register_memory(memory_->of(rank)));
            return known;
        });
        const auto ring = [&](Rank of, Rank from) {
            return Ring(memory_->of(of).data() + places.place(of, from) * shape.bytes(), shape);
        };
        for (const Rank peer : needs.peers) {
            ends_.emplace_back(End::Direction::out, peer, ring(peer, me), needs.most_posts);
            ends_.emplace_back(End::Direction::in, peer, ring(me, peer), needs.most_posts);
        }
    }

    void post_receive(int, Rank from, std::span<std::byte> into) override {
        post(End::Direction::in, from, into);
    }
    void post_send(int, Rank to, std::span<const std::byte> from) override {
        // Only read.
        post(End::Direction::out, to, {const_cast<std::byte*>(from.data()), from.size()});
    }

    bool all_done() override {
        if (!is_open_) return true;
        if (!is_begun_) begin();
        bool all_are_over = true;
        for (End& end : ends_) {
            end.advance(end.direction() == End::Direction::out ? *out_ : *in_);
            all_are_over = end.is_over() && all_are_over;
        }
        if (!all_are_over) return false;
        for (End& end : ends_) end.forget();
        is_open_ = is_begun_ = false;
        return true;
    }

    std::optional<Rank> waits_for() const override {
        for (const auto direction : {End::Direction::in, End::Direction::out})
            for (const End& end : ends_)
                if (end.direction() == direction && !end.is_over()) return end.peer();
        return std::nullopt;
    }

    std::optional<std::string> left_over() const override {
        for (const End& end : ends_)
            if (end.has_left_over())
                return "a message from rank " + std::to_string(end.peer().index) +
                       " was never received";
        return std::nullopt;
    }

private:
    void post(End::Direction direction, Rank peer, std::span<std::byte> message) {
        if (message.empty()) return;
        const auto found = std::find(end_to_.begin(), end_to_.end(), peer);
        assert(found != end_to_.end() && "all peers are named beforehand");
        const auto place = 2 * as_size(found - end_to_.begin());
        ends_[place + (direction == End::Direction::in ? 1 : 0)].post(message);
        is_open_ = true;
    }

    // Sent data may have just been packed, and received data may overwrite data that is still read.
    void begin() {
        out_->follow(plan_);
        in_->follow(plan_);
        is_begun_ = true;
    }

    DeviceQueue& plan_;
    std::unique_ptr<SharedMemory> memory_;
    std::vector<std::shared_ptr<void>> known_;  // released before the memory is
    std::unique_ptr<DeviceQueue> out_, in_;
    std::vector<Rank> end_to_;  // peers, in the order of their two ends
    std::vector<End> ends_;
    bool is_open_ = false, is_begun_ = false;
};

class SharedRings final : public MessageTransport {
public:
    SharedRings(World& world, MemoryDevice& device, const Staging& staging)
        : world_(world), device_(device), staging_(staging) {}

    std::string_view name() const override { return "shm"; }
    // Messages are cut here in any case.
    std::size_t most_bytes() const override { return std::size_t{1} << 62; }

    std::unique_ptr<Endpoint> connect(const EndpointNeeds& needs) override {
        assert(needs.queue != nullptr && "messages between devices come in the order of a queue");
        return std::make_unique<SharedRingsEndpoint>(world_, device_, needs, staging_);
    }

private:
    World& world_;
    MemoryDevice& device_;
    Staging staging_;
};

}  // namespace

std::unique_ptr<MessageTransport> shared_rings_transport(World& world, MemoryDevice& device,
                                                         const Staging& staging) {
    return std::make_unique<SharedRings>(world, device, staging);
}

}  // namespace tutti
