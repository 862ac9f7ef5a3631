// SPDX-License-Identifier: Apache-2.0
// Splits a world into groups: the first rank of each group listens, as rank 0 of a rendezvous.
#include <unistd.h>

#include <algorithm>
#include <random>

#include "base/index.hpp"
#include "collectives/world/backoff.hpp"
#include "collectives/world/rendezvous/process_world.hpp"
#include "collectives/world/rendezvous/server.hpp"

namespace tutti {
namespace {

constexpr const char* loopback = "127.0.0.1";

struct Group {
    std::uint64_t token = 0;  // the first rank's token identifies members of the group
    int port = 0;
};

}  // namespace

OpenFile ProcessWorld::listen_for_ranks() const {
    return listen_at({.host = one_host() ? loopback : "", .port = 0});
}

std::vector<TcpAddress> ProcessWorld::addresses_of(int port_of_this_rank) {
    const auto ports = gather_all(*this, port_of_this_rank);
    const auto names = gather_all_texts(*this, is_first() ? "" : own_end(socket_to({0})).host);
    const auto& neighbours = ranks_of_host();
    const auto& of_rank0 = hosts_.nodes().front();
    std::vector<TcpAddress> addresses;
    for (int index = 0; index < size_; ++index) {
        const Rank rank{index};
        const bool is_near = std::ranges::find(neighbours, rank) != neighbours.end();
        const bool is_with_rank0 = std::ranges::find(of_rank0, rank) != of_rank0.end();
        // A rank on rank 0's host may have an address there that is valid only on that host.
        addresses.push_back({.host = is_near         ? loopback
                                     : is_with_rank0 ? far_end(socket_to({0})).host
                                                     : at(names, rank),
                             .port = at(ports, rank)});
    }
    return addresses;
}

std::unique_ptr<World> ProcessWorld::split(std::optional<int> group) {
    const auto members = ranks_of_group(*this, group);
    const bool leads = members.size() > 1 && members.front() == rank_;
    Group mine;
    std::optional<OpenFile> listening;
    if (leads) {
        std::random_device random;
        mine.token = std::uint64_t{random()} << 32 | random();
        listening.emplace(listen_for_ranks());
        mine.port = port_of(listening->number);
    }
    const auto addresses = addresses_of(mine.port);
    const auto groups = gather_all(*this, mine);
    if (members.empty()) return nullptr;
    const Rank me{static_cast<int>(std::ranges::find(members, rank_) - members.begin())};
    const int size = int_size(members);
    const TcpAddress& where = at(addresses, members.front());
    const std::uint64_t token = at(groups, members.front()).token;
    const double deadline = hang_timeout * barrier_timeout_factor;
    std::vector<OpenFile> connections;
    if (leads)
        connections = RendezvousServer(std::move(*listening),
                                       {.size = size, .job = token, .where = to_string(where)})
                          .all_connections(deadline);
    else if (size > 1)
        connections.push_back(join_rank0(
            where, {.rank = me.index, .size = size, .process = getpid(), .job = token}, deadline));
    auto part = std::make_unique<ProcessWorld>(me, size, std::move(connections), hang_timeout);
    part->oversubscribed = oversubscribed;
    part->background = background;
    part->parent = this;
    return part;
}

}  // namespace tutti
