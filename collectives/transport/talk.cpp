// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/talk.hpp"

#include "collectives/transport/loopback.hpp"
#include "collectives/transport/mpi.hpp"
#include "collectives/transport/patience.hpp"

namespace tutti {

Talk::Talk(World& world)
    : world_(world),
      messages_(world.kind() == "mpi" ? mpi_transport(world) : loopback_transport(world)),
      wire_(messages_->connect({.plan = 0, .most_posts = 2, .most_to_one = 1, .most_bytes = 0})) {}

void Talk::send(Rank to, std::span<const std::byte> words) {
    wire_->post_send(0, to, words);
    finish();
}

void Talk::receive(Rank from, std::span<std::byte> words) {
    wire_->post_receive(0, from, words);
    finish();
}

void Talk::exchange(Rank to, std::span<const std::byte> out, Rank from, std::span<std::byte> in) {
    wire_->post_receive(0, from, in);
    wire_->post_send(0, to, out);
    finish();
}

void Talk::finish() {
    world_.met();
    Patience patience(world_);
    while (!wire_->all_done()) {
        if (patience.pause()) continue;
        const auto peer = wire_->waits_for();
        throw Error("rank " + std::to_string(world_.rank().index) + " waited " +
                        std::to_string(world_.hang_timeout) + " s for rank " +
                        (peer ? std::to_string(peer->index) : "?") +
                        " while the network was measured",
                    Exit::time_out);
    }
}

}  // namespace tutti
