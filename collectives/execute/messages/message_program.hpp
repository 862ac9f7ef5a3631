// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "collectives/execute/messages/message_draft.hpp"
#include "collectives/execute/plan/moves.hpp"
#include "collectives/execute/plan/plan_request.hpp"
#include "collectives/transport/endpoint.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// A run of entries in one of the program's lists.
struct Entries {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
    bool empty() const { return first == end; }
};

/// A message and the peer at its other end. For sends the memory is only read.
struct Post {
    Rank peer;
    Place place;
    std::span<std::byte> memory;
};

/// One step: pack, post receives and sends, wait for all, then move what arrived.
struct MessageStep {
    int number;
    Entries packing;
    Entries receives;
    Entries sends;
    Entries moves;
};

/// One lane of one rank's part as a list of steps, for one call at a time. Messages over
/// `most_bytes` are cut. Steps in which this rank has nothing to do are left out.
class MessageProgram {
public:
    /// Allocates all memory that the largest call of the request needs.
    MessageProgram(const PlanRequest& request, MessageDraft draft, std::size_t most_bytes);

    /// Makes the steps for a call, which does not exceed the largest one. If only the buffers have
    /// changed, it replaces their addresses. Allocates nothing. Throws Error if a move has more
    /// sources of the type than the device can combine.
    void bind(const Call& call, const CallBuffers& buffers);

    MemoryDevice* device;                ///< device that holds all memory; null for the host
    std::unique_ptr<DeviceQueue> queue;  ///< queue of that device
    EndpointNeeds needs;                 ///< of any call, except for the plan's number
    std::vector<MessageStep> steps;
    std::vector<Post> receives;
    std::vector<Post> sends;
    Moves moves;
    Entries settling;  ///< at the end: results that are not at their destination

private:
    std::shared_ptr<std::byte> memory(std::size_t bytes) const;
    std::size_t pieces_of(const DraftMessage& message) const;
    void make_room();
    void expect_room_for_sources(DataType type) const;
    void make_steps(const Call& call);
    void replace_buffers();
    Place place_of(DraftPlace place) const { return {place.in, bytes_of(place.offset)}; }
    std::byte* address(Place place) const { return begins_[as_size(place.in)] + place.offset; }
    Moves::Operand operand(DraftPlace place) const;
    std::size_t bytes_of(CallSize size) const { return bytes_[size.index]; }
    Entries add_moves(const std::vector<DraftMove>& drafts);
    Entries add_posts(std::vector<Post>& posts, const std::vector<DraftMessage>& drafts);

    MessageDraft draft_;
    std::size_t most_bytes_;
    std::size_t most_sources_ = 0;  // sources of one move
    std::optional<Call> call_;      // the sizes belong to it
    std::vector<std::size_t> bytes_;
    std::vector<Moves::Operand> sources_;  // sources of the move that is added
    /// Memory for chunks in transit, for arriving data, and for packed data.
    std::shared_ptr<std::byte> in_transit_, inbox_, outbox_;
    std::array<std::byte*, as_size(Place::In::outbox) + 1> begins_ = {};  // by Place::In
};

/// Compiles a program for each lane, see draft_messages.
std::vector<MessageProgram> compile_messages(const PlanRequest& request, const World& world,
                                             std::size_t most_bytes);

}  // namespace tutti
