// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/gpu/staged.hpp"

#include <algorithm>
#include <cassert>

#include "base/index.hpp"
#include "base/rounding.hpp"

namespace tutti {
namespace {

constexpr std::size_t whole_lines(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

// One message of the step, in device memory.
struct Message {
    Rank peer;
    std::byte* memory;
    std::size_t bytes;
};

struct Piece {
    std::size_t offset, bytes;
};

// How messages are cut, the same at both ends.
class Cut {
public:
    Cut(World& world, const EndpointNeeds& needs, const Staging& staging) {
        for (const std::size_t posts : gather_all(world, needs.most_posts))
            most_posts_ = std::max(most_posts_, posts);
        bytes_ = agreed_piece(world, staging, most_posts_, needs.most_bytes);
    }

    std::size_t bytes() const { return bytes_; }
    std::size_t most_posts() const { return most_posts_; }
    std::size_t rounds(std::size_t message) const { return divide_up(message, bytes_); }
    // Returns the piece of a message that is sent in a round; 0 bytes past its end.
    Piece piece(std::size_t message, std::size_t round) const {
        const std::size_t offset = std::min(round * bytes_, message);
        return {offset, std::min(bytes_, message - offset)};
    }

private:
    std::size_t most_posts_ = 1;
    std::size_t bytes_ = 0;
};

// Pinned memory for one piece of every message of a step, and the endpoint that sends them. Pieces
// are assigned to the slots in turn, the same way at both ends, so that those of one endpoint
// arrive in order.
class Slot {
public:
    Slot(std::unique_ptr<Endpoint> endpoint, std::shared_ptr<std::byte> memory)
        : endpoint_(std::move(endpoint)), memory_(std::move(memory)) {}

    struct Step {
        int number = 0;
        std::vector<Message> receives, sends;
        std::size_t rounds = 0;
    };

    void begin(std::size_t round) {
        round_ = round;
        phase_ = Phase::idle;
    }

    bool is_over(const Step& step) const { return phase_ == Phase::idle && round_ >= step.rounds; }

    // Advances to the next phase if possible.
    bool advance(const Step& step, const Cut& cut, std::size_t slots, DeviceQueue& out,
                 DeviceQueue& in) {
        switch (phase_) {
            case Phase::idle:
                if (round_ >= step.rounds) return false;
                copy_out(step, cut, out);
                return true;
            case Phase::copying_out:
                if (!out.is_past(mark_)) return false;
                send(step, cut);
                return true;
            case Phase::in_flight:
                if (!endpoint_->all_done()) return false;
                copy_in(step, cut, in);
                return true;
            case Phase::copying_in:
                if (!in.is_past(mark_)) return false;
                begin(round_ + slots);
                return true;
        }
        return false;
    }

    const Endpoint& endpoint() const { return *endpoint_; }

private:
    enum class Phase { idle, copying_out, in_flight, copying_in };

    // Calls visit(message, its piece, its place in pinned memory) in this round.
    template <class Visit>
    void each(const std::vector<Message>& messages, std::size_t first_place, const Cut& cut,
              Visit&& visit) {
        for (std::size_t i = 0; i < messages.size(); ++i) {
            const Piece piece = cut.piece(messages[i].bytes, round_);
            std::byte* const place = memory_.get() + (first_place + i) * cut.bytes();
            if (piece.bytes > 0) visit(messages[i], piece, place);
        }
    }

    // Posts receives first, so that senders need not wait for our copies.
    void copy_out(const Step& step, const Cut& cut, DeviceQueue& out) {
        each(step.receives, 0, cut, [&](const Message& message, Piece piece, std::byte* place) {
            endpoint_->post_receive(step.number, message.peer, {place, piece.bytes});
        });
        each(step.sends, step.receives.size(), cut,
             [&](const Message& message, Piece piece, std::byte* place) {
                 out.copy(place, message.memory + piece.offset, piece.bytes);
             });
        mark_ = out.mark();
        phase_ = Phase::copying_out;
    }

    void send(const Step& step, const Cut& cut) {
        each(step.sends, step.receives.size(), cut,
             [&](const Message& message, Piece piece, std::byte* place) {
                 endpoint_->post_send(step.number, message.peer, {place, piece.bytes});
             });
        phase_ = Phase::in_flight;
    }

    void copy_in(const Step& step, const Cut& cut, DeviceQueue& in) {
        each(step.receives, 0, cut, [&](const Message& message, Piece piece, std::byte* place) {
            in.copy(message.memory + piece.offset, place, piece.bytes);
        });
        mark_ = in.mark();
        phase_ = Phase::copying_in;
    }

    std::unique_ptr<Endpoint> endpoint_;
    std::shared_ptr<std::byte> memory_;
    std::size_t round_ = 0;
    Phase phase_ = Phase::idle;
    DeviceQueue::Mark mark_ = 0;
};

class StagedEndpoint final : public Endpoint {
public:
    StagedEndpoint(World& world, MemoryDevice& device, MessageTransport& messages,
                   const EndpointNeeds& needs, const Staging& staging)
        : cut_(world, needs, staging),
          plan_(*needs.queue),
          out_(device.queue()),
          in_(device.queue()) {
        step_.receives.reserve(needs.most_posts);
        step_.sends.reserve(needs.most_posts);
        const auto pinned = make_on_all_ranks(world, "pinned memory", [&] {
            std::vector<std::shared_ptr<std::byte>> of_slots;
            for (int slot = 0; slot < staging.slots; ++slot)
                of_slots.push_back(device.pinned(needs.most_posts * cut_.bytes()));
            return of_slots;
        });
        for (int slot = 0; slot < staging.slots; ++slot) {
            EndpointNeeds of_slot = needs;
            of_slot.plan = needs.plan * staging.slots + slot;
            of_slot.most_bytes = cut_.bytes();
            of_slot.queue = nullptr;
            slots_.emplace_back(messages.connect(of_slot), at(pinned, slot));
        }
    }

    void post_receive(int step, Rank from, std::span<std::byte> into) override {
        step_.receives.push_back(posted(step, from, into));
    }

    void post_send(int step, Rank to, std::span<const std::byte> from) override {
        // Only read.
        step_.sends.push_back(posted(step, to, {const_cast<std::byte*>(from.data()), from.size()}));
    }

    bool all_done() override {
        if (step_.rounds == 0) return true;
        if (!is_begun_) begin();
        bool is_over = true;
        for (Slot& slot : slots_) {
            while (slot.advance(step_, cut_, slots_.size(), *out_, *in_)) continue;
            is_over = slot.is_over(step_) && is_over;
        }
        if (!is_over) return false;
        step_.receives.clear();
        step_.sends.clear();
        step_.rounds = 0;
        is_begun_ = false;
        return true;
    }

    std::optional<Rank> waits_for() const override {
        for (const Slot& slot : slots_)
            if (const auto peer = slot.endpoint().waits_for()) return peer;
        return std::nullopt;
    }

    std::optional<std::string> left_over() const override {
        for (const Slot& slot : slots_)
            if (auto left = slot.endpoint().left_over()) return left;
        return std::nullopt;
    }

private:
    Message posted(int step, Rank peer, std::span<std::byte> memory) {
        step_.number = step;
        step_.rounds = std::max(step_.rounds, cut_.rounds(memory.size()));
        return {peer, memory.data(), memory.size()};
    }

    // Sent data may have just been packed, and received data may overwrite data that is still read.
    void begin() {
        out_->follow(plan_);
        in_->follow(plan_);
        for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].begin(i);
        is_begun_ = true;
    }

    Cut cut_;
    DeviceQueue& plan_;
    std::unique_ptr<DeviceQueue> out_, in_;
    std::vector<Slot> slots_;
    Slot::Step step_;
    bool is_begun_ = false;
};

class Staged final : public MessageTransport {
public:
    Staged(World& world, MemoryDevice& device, std::unique_ptr<MessageTransport> messages,
           const Staging& staging)
        : world_(world), device_(device), messages_(std::move(messages)), staging_(staging) {}

    std::string_view name() const override { return messages_->name(); }
    // Messages are cut here in any case.
    std::size_t most_bytes() const override { return std::size_t{1} << 62; }

    std::unique_ptr<Endpoint> connect(const EndpointNeeds& needs) override {
        assert(needs.queue != nullptr && "messages between devices come in the order of a queue");
        return std::make_unique<StagedEndpoint>(world_, device_, *messages_, needs, staging_);
    }

private:
    World& world_;
    MemoryDevice& device_;
    std::unique_ptr<MessageTransport> messages_;
    Staging staging_;
};

}  // namespace

std::size_t agreed_piece(World& world, const Staging& staging, std::size_t messages,
                         std::size_t most_bytes) {
    const auto most = [&](std::size_t mine, std::size_t least) {
        const auto all = gather_all(world, mine);
        return std::max(least, *std::ranges::max_element(all));
    };
    const std::size_t pieces = as_size(staging.slots) * most(messages, 1);
    const std::size_t least = std::min(staging.least_piece, staging.piece);
    return whole_lines(
        std::min(most(most_bytes, 1), std::clamp(staging.ring / pieces, least, staging.piece)));
}

std::unique_ptr<MessageTransport> staged_transport(World& world, MemoryDevice& device,
                                                   std::unique_ptr<MessageTransport> messages,
                                                   const Staging& staging) {
    return std::make_unique<Staged>(world, device, std::move(messages), staging);
}

}  // namespace tutti
