// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <cstring>

#include "workloads/learn/servers/server_trainer.hpp"

namespace tutti {

// The circle method: all but the last form a circle and meet across it; the rank that would meet
// itself meets the last.
std::optional<Rank> partner(Rank rank, int round, int ranks) {
    const int last = ranks + ranks % 2 - 1;  // with an odd number of ranks this one does not exist
    int other = 0;
    if (rank.index == last) {
        while (2 * other % last != round % last) ++other;
    } else {
        other = (round + last - rank.index) % last;
        if (other == rank.index) other = last;
    }
    if (other >= ranks || other == rank.index) return std::nullopt;
    return Rank{other};
}

// An endpoint reports only that all of its messages are done, so each link has its own. All ranks
// make endpoints together: in a round of a tournament each connects to one partner.
Mailbox::Mailbox(World& world, MessageTransport& transport, int first_plan, std::size_t most_bytes)
    : me_(world.rank()), out_(as_size(world.size())), in_(as_size(world.size())) {
    const int ranks = world.size();
    if (ranks == 1) return;
    for (int round = 0; round < ranks - 1 + ranks % 2; ++round) {
        const auto other = partner(me_, round, ranks);
        EndpointNeeds needs{.plan = first_plan + 2 * round,
                            .most_posts = 1,
                            .most_to_one = 1,
                            .most_bytes = most_bytes};
        if (other) needs.peers = {*other};
        auto up = transport.connect(needs);
        ++needs.plan;
        auto down = transport.connect(needs);
        if (!other) continue;
        if (*other < me_) std::swap(up, down);
        link(out_, *other).endpoint = std::move(up);
        link(in_, *other).endpoint = std::move(down);
    }
}

std::span<std::byte> Mailbox::send_buffer(Rank to, std::size_t bytes) {
    Link& out = link(out_, to);
    assert(!out.is_open);
    if (out.memory.size() < bytes) out.memory.resize(bytes);
    out.bytes = bytes;
    return std::span(out.memory).first(bytes);
}

void Mailbox::send(Rank to) {
    Link& out = link(out_, to);
    out.is_open = true;
    if (out.endpoint) out.endpoint->post_send(0, to, std::span(out.memory).first(out.bytes));
}

bool Mailbox::is_sent(Rank to) {
    Link& out = link(out_, to);
    if (out.is_open && out.endpoint) out.is_open = !out.endpoint->all_done();
    return !out.is_open;
}

void Mailbox::post_receive(Rank from, std::size_t bytes) {
    Link& in = link(in_, from);
    assert(!in.is_open);
    if (in.memory.size() < bytes) in.memory.resize(bytes);
    in.bytes = bytes;
    in.is_open = true;
    if (in.endpoint) in.endpoint->post_receive(0, from, std::span(in.memory).first(bytes));
}

bool Mailbox::has_arrived(Rank from) {
    Link& in = link(in_, from);
    if (!in.is_open) return false;
    if (in.endpoint) {
        if (!in.endpoint->all_done()) return false;
    } else {
        Link& own = link(out_, from);
        if (!own.is_open) return false;
        std::memcpy(in.memory.data(), own.memory.data(), in.bytes);
        own.is_open = false;
    }
    in.is_open = false;
    return true;
}

std::span<const std::byte> Mailbox::message(Rank from) const {
    const Link& in = at(in_, from);
    return std::span(in.memory).first(in.bytes);
}

}  // namespace tutti
