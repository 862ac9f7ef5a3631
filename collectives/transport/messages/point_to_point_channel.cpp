// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/messages/point_to_point_channel.hpp"

#include "collectives/transport/messages/loopback.hpp"
#include "collectives/transport/messages/mpi.hpp"
#include "collectives/transport/ucx/ucx.hpp"
#include "collectives/world/backoff.hpp"

namespace tutti {
namespace {

std::unique_ptr<MessageTransport> plain_messages(World& world) {
    if (world.kind() == "mpi") return mpi_transport(world);
    if (world.kind() == "threads") return loopback_transport(world);
    return ucx_transport(world);
}

}  // namespace

PointToPointChannel::PointToPointChannel(World& world)
    : world_(world),
      messages_(plain_messages(world)),
      endpoint_(
          messages_->connect({.plan = 0, .most_posts = 2, .most_to_one = 1, .most_bytes = 0})) {}

void PointToPointChannel::send(Rank to, std::span<const std::byte> words) {
    endpoint_->post_send(0, to, words);
    finish();
}

void PointToPointChannel::receive(Rank from, std::span<std::byte> words) {
    endpoint_->post_receive(0, from, words);
    finish();
}

void PointToPointChannel::exchange(Rank to, std::span<const std::byte> out, Rank from,
                                   std::span<std::byte> in) {
    endpoint_->post_receive(0, from, in);
    endpoint_->post_send(0, to, out);
    finish();
}

void PointToPointChannel::finish() {
    world_.heartbeat();
    Backoff backoff(world_);
    while (!endpoint_->all_done()) {
        if (backoff.pause()) continue;
        const auto peer = endpoint_->waits_for();
        throw Error("rank " + std::to_string(world_.rank().index) + " waited " +
                        std::to_string(world_.hang_timeout) + " s for rank " +
                        (peer ? std::to_string(peer->index) : "?") +
                        " while the network was measured",
                    Exit::time_out);
    }
}

}  // namespace tutti
