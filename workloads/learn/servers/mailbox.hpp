// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/index.hpp"
#include "collectives/transport/endpoint.hpp"

namespace tutti {

/// Point-to-point messages between any two ranks, each pair and direction on an endpoint of its
/// own, so that none waits for another: servers need it, collectives do not. At most one message is
/// under way from a rank to another, and each is received into a posted receive. To oneself it is a
/// copy.
class Mailbox {
public:
    /// Collective. Uses plans of `transport` from `first_plan` on, 2 P at most.
    /// Messages have `most_bytes` at most. The transport outlives it.
    Mailbox(World& world, MessageTransport& transport, int first_plan, std::size_t most_bytes);

    /// Room for the next message to `to`, for which the last one must have been sent.
    std::span<std::byte> send_buffer(Rank to, std::size_t bytes);
    /// Sends the send buffer, which must not change until is_sent().
    void send(Rank to);
    /// Whether no message to `to` is under way; makes progress.
    bool is_sent(Rank to);

    /// Allows a message of so many bytes to arrive, over the previous one.
    void post_receive(Rank from, std::size_t bytes);
    /// Whether the posted receive is done; makes progress. True only once.
    bool has_arrived(Rank from);
    /// The message that has arrived, until the next receive is posted.
    std::span<const std::byte> message(Rank from) const;

private:
    struct Link {
        std::unique_ptr<Endpoint> endpoint;  // none: to oneself
        std::vector<std::byte> memory;
        std::size_t bytes = 0;
        bool is_open = false;
    };
    Link& link(std::vector<Link>& links, Rank peer) { return at(links, peer); }

    Rank me_;
    std::vector<Link> out_, in_;
};

/// The partner of `rank` in a round of a tournament in which each of P ranks meets each other once,
/// in P - 1 rounds (P if that is odd); none in a round that it sits out.
std::optional<Rank> partner(Rank rank, int round, int ranks);

}  // namespace tutti
