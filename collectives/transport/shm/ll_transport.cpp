// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "base/index.hpp"
#include "base/rounding.hpp"
#include "collectives/transport/shm/host_transport.hpp"
#include "collectives/world/host_memory.hpp"
#include "collectives/world/peer_memory.hpp"
#include "collectives/world/shared_plan_memory.hpp"
#include "collectives/world/signal.hpp"

namespace tutti {
namespace {

// The receiver's counts of slots taken and of messages read in the sender's memory, on a cache line
// of their own: the sender reads them only after a full round, or while it waits for a read.
struct alignas(cache_line) Taken {
    std::uint64_t slots;
    std::uint64_t messages;
    std::uint64_t bytes_of_slot;  // chosen by the receiver
};

// One end of the connection from one rank to another: a ring of slots in the receiver's memory. A
// slot holds a message, or a part of a longer one: a line with the flag that announces all of it,
// then the data for which that line is too small.
class SlotRing {
public:
    struct Size {
        // For messages of up to `most` bytes. Flags in all lines save a cache miss, but writing and
        // reading them takes longer than copying. A sender that shares its core with the receiver
        // runs ahead until the ring is full: the longer the ring, the fewer the switches.
        Size(std::size_t most, bool oversubscribed) {
            if (most <= most_in_lines && !oversubscribed) {
                slots = std::max<std::size_t>(64, std::bit_ceil(8 * lines_of(most)));
                return;
            }
            const std::size_t part = std::clamp(most, LlLine::capacity, most_in_slot);
            bytes_of_slot = round_up(part + sizeof(LlLine::flag), cache_line);
            const std::size_t most_bytes = (oversubscribed ? 128 : 16) * 1024;
            slots = std::clamp<std::size_t>(std::bit_floor(most_bytes / bytes_of_slot), 16, 256);
        }

        std::size_t bytes() const { return sizeof(Taken) + slots * bytes_of_slot; }

        std::size_t bytes_of_slot = sizeof(LlLine), slots = 0;
    };

    SlotRing() = default;  // not connected: the peer is on another host
    explicit SlotRing(std::span<std::byte> memory)
        : taken_(reinterpret_cast<Taken*>(memory.data())), slots_(memory.subspan(sizeof(Taken))) {}

    /// The receiver does this before the sender sends.
    void receive_in(const Size& size) {
        taken_->bytes_of_slot = size.bytes_of_slot;
        learn_size();
    }

    /// The number of messages that the receiver has read in the sender's memory.
    std::uint64_t& read_messages() const { return taken_->messages; }

    /// Whether a message has arrived that was not taken.
    bool has_arrived() const { return mask_ != 0 && seen(slot(next_).flag) == next_ + 1; }

    /// Sends as much of the message as there is room for, and removes that part from `message`.
    void send(std::span<const std::byte>& message) {
        if (mask_ == 0) learn_size();
        const std::uint64_t first = next_;
        std::size_t bytes = 0;
        while (!message.empty()) {
            if (next_ - known_taken_ > mask_) {
                known_taken_ = seen(taken_->slots);
                if (next_ - known_taken_ > mask_) return;
            }
            LlLine& line = slot(next_);
            bytes = std::min(message.size(), most_in_this_slot());
            if (bytes > LlLine::capacity)
                std::memcpy(rest_of(line), message.data() + LlLine::capacity,
                            bytes - LlLine::capacity);
            line.write(message.data(), bytes, ++next_);
            message = message.subspan(bytes);
        }
        // The next message is likely to have the same length.
        std::size_t left = most_prefetched;
        for (std::uint64_t i = next_; i < next_ + (next_ - first); ++i)
            for (std::size_t at = 0; at < bytes && left > 0; at += cache_line, --left)
                prefetch_to_write(&slot(i).data[0] + at);
    }

    /// Takes the part of the message that has arrived, and removes it from `into`.
    void take(std::span<std::byte>& into) {
        while (!into.empty()) {
            LlLine& line = slot(next_);
            const std::size_t bytes = std::min(into.size(), most_in_this_slot());
            if (!line.read(into.data(), bytes, next_ + 1)) return;
            if (bytes > LlLine::capacity)
                std::memcpy(into.data() + LlLine::capacity, rest_of(line),
                            bytes - LlLine::capacity);
            ++next_;
            into = into.subspan(bytes);
            // Done rarely, because it takes the line away from the sender; but before the ring is
            // full.
            if (next_ - known_taken_ > mask_ / 4) publish(taken_->slots, known_taken_ = next_);
        }
    }

private:
    static constexpr std::size_t most_in_lines = 512;
    // A longer message is cut, so that the receiver takes its first part while the next is written.
    static constexpr std::size_t most_in_slot = 1024 + LlLine::capacity;
    static constexpr std::size_t most_prefetched = 16;  // lines

    static std::size_t lines_of(std::size_t message) {
        return divide_up(message, LlLine::capacity);
    }
    void learn_size() {
        bytes_of_slot_ = taken_->bytes_of_slot;
        mask_ = slots_.size() / bytes_of_slot_ - 1;
    }
    LlLine& slot(std::uint64_t number) const {
        return *reinterpret_cast<LlLine*>(&slots_[(number & mask_) * bytes_of_slot_]);
    }
    static std::byte* rest_of(LlLine& line) { return reinterpret_cast<std::byte*>(&line + 1); }
    std::size_t most_in_this_slot() const { return bytes_of_slot_ - sizeof(LlLine::flag); }

    Taken* taken_ = nullptr;
    std::span<std::byte> slots_;
    std::size_t bytes_of_slot_ = 0;
    std::uint64_t mask_ = 0;         // 0: the size is not known yet
    std::uint64_t next_ = 0;         // number of the next slot, counted over all runs
    std::uint64_t known_taken_ = 0;  // last read (sender) or published (receiver)
};

// Messages up to this size travel in slots. The receiver reads larger ones in the sender's memory,
// where the kernel lets it: the system call costs less than the second copy.
constexpr std::size_t most_in_slots = 4096;

// Messages may be cut: those to one peer go in the order posted.
class LlEndpoint final : public Endpoint {
public:
    // `processes`: process numbers of the ranks of this host if they can read each other's memory,
    // else empty.
    LlEndpoint(World& world, std::span<const pid_t> processes, const EndpointNeeds& needs)
        : me_(world.rank()),
          to_(as_size(world.size())),
          from_(to_.size()),
          read_above_(processes.empty() ? std::numeric_limits<std::size_t>::max() : most_in_slots) {
        sends_.reserve(needs.most_posts);
        receives_.reserve(needs.most_posts);
        const SlotRing::Size size(std::min(needs.most_bytes, read_above_), world.oversubscribed);
        const std::span<const Rank> ranks = world.ranks_of_host();
        needs.memory->ask(ranks.size() * size.bytes(), [this, ranks, processes, size](auto shared) {
            use(std::move(shared), ranks, processes, size);
        });
    }

    void post_receive(int, Rank from, std::span<std::byte> into) override {
        receives_.push_back({from, at(from_, from).posted++, into, into.size() > read_above_});
    }

    void post_send(int, Rank to, std::span<const std::byte> message) override {
        Open<const std::byte> send{to, at(to_, to).posted++, message, message.size() > read_above_};
        if (!advance(send)) sends_.push_back(send);
    }

    bool all_done() override {
        if (sends_.empty() && receives_.empty()) return true;
        drop_done(sends_);
        drop_done(receives_);
        return sends_.empty() && receives_.empty();
    }

    std::optional<Rank> waits_for() const override {
        if (!receives_.empty()) return receives_.front().peer;
        if (!sends_.empty()) return sends_.front().peer;
        return std::nullopt;
    }

    std::optional<std::string> left_over() const override {
        for (std::size_t from = 0; from < from_.size(); ++from)
            if (from_[from].ring.has_arrived())
                return "a message from rank " + std::to_string(from) + " to rank " +
                       std::to_string(me_.index) + " was never received";
        return std::nullopt;
    }

private:
    // Each rank chooses the size of the rings that it receives from.
    void use(std::unique_ptr<ReachableMemory> memory, std::span<const Rank> ranks,
             std::span<const pid_t> processes, const SlotRing::Size& size) {
        memory_ = std::move(memory);
        const auto ring = [&](Rank receiver, std::size_t sender) {
            const std::span<std::byte> piece = memory_->of(receiver);
            const std::size_t bytes = piece.size() / ranks.size();
            return SlotRing(piece.subspan(sender * bytes, bytes));
        };
        const auto me = as_size(std::ranges::find(ranks, me_) - ranks.begin());
        for (std::size_t place = 0; place < ranks.size(); ++place) {
            at(to_, ranks[place]).ring = ring(ranks[place], me);
            at(from_, ranks[place]).ring = ring(me_, place);
            at(from_, ranks[place]).ring.receive_in(size);
            if (!processes.empty()) at(from_, ranks[place]).process = processes[place];
        }
    }

    // The messages in one direction between this rank and a peer; counted over all runs.
    struct Link {
        SlotRing ring;
        pid_t process = 0;  // the sender's number
        std::uint64_t posted = 0, done = 0, offered = 0;
    };

    template <class Memory>
    struct Open {
        Rank peer;
        std::uint64_t number;  // the earlier messages of the link go first
        std::span<Memory> left;
        bool is_read;             // by the receiver in the sender's memory, whose address it gets
        std::uint64_t offer = 0;  // number of the address that was sent
    };

    // Returns true if the message is finished, as does the next function.
    bool advance(Open<const std::byte>& send) {
        Link& link = at(to_, send.peer);
        if (send.number != link.done) return false;
        if (!send.is_read) {
            link.ring.send(send.left);
            if (!send.left.empty()) return false;
        } else {
            if (send.offer == 0) {
                const std::byte* const address = send.left.data();
                auto offer = std::as_bytes(std::span(&address, 1));
                link.ring.send(offer);
                if (!offer.empty()) return false;
                send.offer = ++link.offered;
            }
            if (seen(link.ring.read_messages()) < send.offer) return false;
        }
        ++link.done;
        return true;
    }

    bool advance(Open<std::byte>& receive) {
        Link& link = at(from_, receive.peer);
        if (receive.number != link.done) return false;
        if (!receive.is_read) {
            link.ring.take(receive.left);
            if (!receive.left.empty()) return false;
        } else {
            std::byte* address = nullptr;
            auto offer = std::as_writable_bytes(std::span(&address, 1));
            link.ring.take(offer);
            if (!offer.empty()) return false;
            read(receive, {link.process, address});
            publish(link.ring.read_messages(), ++link.offered);
        }
        ++link.done;
        return true;
    }

    void read(const Open<std::byte>& receive, const PeerMemory& memory) const {
        try {
            memory.read(receive.left.data(), receive.left.size());
        } catch (const Error& error) {
            throw Error("rank " + std::to_string(me_.index) + " lost rank " +
                            std::to_string(receive.peer.index) +
                            " (shared memory): " + error.what(),
                        error.code());
        }
    }

    template <class Posts>
    void drop_done(Posts& posts) {
        std::size_t kept = 0;
        for (auto& post : posts)
            if (!advance(post)) posts[kept++] = post;
        posts.resize(kept);
    }

    Rank me_;
    std::unique_ptr<ReachableMemory> memory_;
    std::vector<Link> to_, from_;  // by peer
    std::size_t read_above_;
    std::vector<Open<const std::byte>> sends_;
    std::vector<Open<std::byte>> receives_;
};

class LlTransport final : public MessageTransport {
public:
    explicit LlTransport(World& world) : world_(world) {}
    std::string_view name() const override { return "shm-lines"; }
    std::unique_ptr<Endpoint> connect(const EndpointNeeds& needs) override {
        return std::make_unique<LlEndpoint>(world_, std::span<const pid_t>(), needs);
    }
    std::size_t most_bytes() const override { return std::size_t{1} << 62; }

private:
    World& world_;
};

class HostMessages final : public MessageTransport {
public:
    explicit HostMessages(World& world) : world_(world) {
        World& host = host_world(world);
        if (const auto refusal = shared_memory_refuses(host)) throw Error(*refusal);
        if (!peer_memory_refuses(host)) processes_ = gather_all(host, getpid());
    }
    std::string_view name() const override { return "shared memory"; }
    std::unique_ptr<Endpoint> connect(const EndpointNeeds& needs) override {
        return std::make_unique<LlEndpoint>(world_, processes_, needs);
    }

private:
    World& world_;
    std::vector<pid_t> processes_;
};

}  // namespace

std::unique_ptr<MessageTransport> ll_transport(World& world) {
    return std::make_unique<LlTransport>(world);
}

std::unique_ptr<MessageTransport> host_messages(World& world) {
    return std::make_unique<HostMessages>(world);
}

}  // namespace tutti
