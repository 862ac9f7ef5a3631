// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/ucx/rails_endpoint.hpp"

#include <algorithm>
#include <utility>

namespace tutti {

RailsEndpoint::RailsEndpoint(std::vector<Rail> rails, const EndpointNeeds& needs, Rank me,
                             std::span<const Rank> on_this_host)
    : rails_(std::move(rails)), plan_(needs.plan), me_(me), on_this_host_(on_this_host) {
    for (const Rank peer : needs.peers) of(peer);
}

// Allocates only for peers that the needs do not name.
RailsEndpoint::Peer& RailsEndpoint::of(Rank peer) {
    const auto known = std::ranges::lower_bound(peers_, peer, {}, &Peer::rank);
    if (known != peers_.end() && known->rank == peer) return *known;
    const bool is_on_this_host = std::ranges::binary_search(on_this_host_, peer);
    return *peers_.insert(known, {peer, is_on_this_host, first_from(me_), first_from(peer)});
}

Endpoint& RailsEndpoint::next(const Peer& peer, std::size_t& count, std::size_t bytes) {
    const bool stays = peer.is_on_this_host || bytes < least_bytes_of_rails;
    return *rails_[stays ? 0 : count++ % rails_.size()].endpoint;
}

void RailsEndpoint::post_receive(int step, Rank from, std::span<std::byte> into) {
    Peer& peer = of(from);
    next(peer, peer.received, into.size()).post_receive(step, from, into);
}

void RailsEndpoint::post_send(int step, Rank to, std::span<const std::byte> from) {
    Peer& peer = of(to);
    next(peer, peer.sent, from.size()).post_send(step, to, from);
}

bool RailsEndpoint::all_done() {
    std::size_t done = 0;
    for (const Rail& rail : rails_)
        if (rail.endpoint->all_done()) ++done;
    if (done == rails_.size()) return true;
    // A worker may still hold bytes of sends that are done, and the peer may wait for them.
    for (const Rail& rail : rails_)
        if (!rail.endpoint->waits_for()) rail.worker.make_progress();
    return false;
}

std::optional<Rank> RailsEndpoint::waits_for() const {
    for (const Rail& rail : rails_)
        if (const auto peer = rail.endpoint->waits_for()) return peer;
    return std::nullopt;
}

void RailsEndpoint::throw_if_failed() {
    for (const Rail& rail : rails_) rail.endpoint->throw_if_failed();
}

void RailsEndpoint::give_up() {
    for (const Rail& rail : rails_) rail.endpoint->give_up();
}

std::optional<std::string> RailsEndpoint::left_over() const {
    for (const Rail& rail : rails_)
        if (auto left = rail.endpoint->left_over()) return left;
    return std::nullopt;
}

}  // namespace tutti
