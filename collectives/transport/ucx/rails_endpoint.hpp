// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "collectives/transport/endpoint.hpp"

namespace tutti {

/// Messages of this size or more are divided among rails. Smaller ones stay on the first, as
/// polling a second network costs more than that saves.
inline constexpr std::size_t least_bytes_of_rails = 4096;

/// A plan's endpoint over one network, and the worker that moves its messages.
struct Rail {
    std::unique_ptr<Endpoint> endpoint;
    Progressable& worker;
};

/// Distributes a plan's messages over rails with the same needs, one for each network between the
/// hosts. Large messages from one host to another take them in turn; both ranks count them.
class RailsEndpoint final : public Endpoint {
public:
    /// `on_this_host`: ranks, ascending; their messages stay on the first rail. Outlives it.
    RailsEndpoint(std::vector<Rail> rails, const EndpointNeeds& needs, Rank me,
                  std::span<const Rank> on_this_host);

    void post_receive(int step, Rank from, std::span<std::byte> into) override;
    void post_send(int step, Rank to, std::span<const std::byte> from) override;
    bool all_done() override;
    std::optional<Rank> waits_for() const override;
    void throw_if_failed() override;
    void give_up() override;
    std::optional<std::string> left_over() const override;

private:
    struct Peer {
        Rank rank;
        bool is_on_this_host;
        // Numbers of large messages. They start at the plan's number + the sender's rank, so that
        // plans and ranks start on different rails.
        std::size_t sent = 0, received = 0;
    };

    Peer& of(Rank peer);
    Endpoint& next(const Peer& peer, std::size_t& count, std::size_t bytes);

    std::size_t first_from(Rank sender) const { return as_size(plan_ + sender.index); }

    std::vector<Rail> rails_;
    int plan_;
    Rank me_;
    std::span<const Rank> on_this_host_;
    std::vector<Peer> peers_;  // by rank
};

}  // namespace tutti
