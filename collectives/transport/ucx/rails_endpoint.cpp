// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/ucx/rails_endpoint.hpp"

#include <algorithm>
#include <utility>

namespace tutti {

RailsEndpoint::RailsEndpoint(std::vector<std::unique_ptr<Endpoint>> rails,
                             const EndpointNeeds& needs, Rank me)
    : rails_(std::move(rails)), plan_(needs.plan), me_(me) {
    for (const Rank peer : needs.peers) of(peer);
}

// Allocates only for peers that the needs do not name.
RailsEndpoint::Peer& RailsEndpoint::of(Rank peer) {
    const auto known = std::ranges::lower_bound(peers_, peer, {}, &Peer::rank);
    if (known != peers_.end() && known->rank == peer) return *known;
    return *peers_.insert(known, {peer, first_from(me_), first_from(peer)});
}

Endpoint& RailsEndpoint::next(std::size_t bytes, std::size_t& count) {
    return *rails_[bytes < least_bytes_of_rails ? 0 : count++ % rails_.size()];
}

void RailsEndpoint::post_receive(int step, Rank from, std::span<std::byte> into) {
    next(into.size(), of(from).received).post_receive(step, from, into);
}

void RailsEndpoint::post_send(int step, Rank to, std::span<const std::byte> from) {
    next(from.size(), of(to).sent).post_send(step, to, from);
}

bool RailsEndpoint::all_done() {
    std::size_t done = 0;
    for (const auto& rail : rails_)
        if (rail->all_done()) ++done;
    return done == rails_.size();
}

std::optional<Rank> RailsEndpoint::waits_for() const {
    for (const auto& rail : rails_)
        if (const auto peer = rail->waits_for()) return peer;
    return std::nullopt;
}

void RailsEndpoint::throw_if_failed() {
    for (const auto& rail : rails_) rail->throw_if_failed();
}

void RailsEndpoint::give_up() {
    for (const auto& rail : rails_) rail->give_up();
}

std::optional<std::string> RailsEndpoint::left_over() const {
    for (const auto& rail : rails_)
        if (auto left = rail->left_over()) return left;
    return std::nullopt;
}

}  // namespace tutti
