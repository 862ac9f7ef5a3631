// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collectives/transport/endpoint.hpp"

namespace tutti {

/// Messages of one kind between any two ranks, each on its own line, so that none waits for
/// another: what collectives never need, and servers do. At most one message is under way from one
/// rank to another, and there is a message for each that is expected. To oneself it is a copy.
class Mailbox {
public:
    /// Collective. Plans of `transport` from `first_plan` on are its own: 2 P of them at most.
    /// Messages have `most_bytes` at most. The transport outlives it.
    Mailbox(World& world, MessageTransport& transport, int first_plan, std::size_t most_bytes);

    /// Room for the next message to `to`, for which the last one must have been sent.
    std::span<std::byte> send_buffer(Rank to, std::size_t bytes);
    /// Sends what is in the outbox, which then stays as it is until is_sent().
    void send(Rank to);
    /// Whether nothing is on its way to `to`; moves it along.
    bool is_sent(Rank to);

    /// From now on a message of so many bytes can come. Its last one is forgotten.
    void post_receive(Rank from, std::size_t bytes);
    /// Whether the message that was expected is there; moves it along. True only once.
    bool has_arrived(Rank from);
    /// The message that has come, until the next one is expected.
    std::span<const std::byte> message(Rank from) const;

private:
    struct Link {
        std::unique_ptr<Endpoint> endpoint;  // none: to oneself
        std::vector<std::byte> memory;
        std::size_t bytes = 0;
        bool is_open = false;
    };
    Link& link(std::vector<Link>& links, Rank peer) {
        return links[static_cast<std::size_t>(peer.index)];
    }

    Rank me_;
    std::vector<Link> out_, in_;
};

/// With whom `rank` plays in a round of a tournament in which each of P meets each other once, in
/// P - 1 rounds (P if that is odd); nobody: the round is free for it.
std::optional<Rank> partner(Rank rank, int round, int ranks);

}  // namespace tutti
