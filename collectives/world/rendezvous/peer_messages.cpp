// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/rendezvous/peer_messages.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <random>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "collectives/world/rendezvous/frame.hpp"
#include "collectives/world/rendezvous/handshake.hpp"

namespace tutti {
namespace {

constexpr int look_ms = 20;
constexpr int hello_ms = 5000;

struct MessageHead {
    std::int64_t tag = 0;
    std::uint64_t bytes = 0;
};

std::uint64_t new_token() {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
}

}  // namespace

// One wait for another rank.
class PeerMessages::Wait {
public:
    Wait(const ProcessWorld& world, const char* what, Rank peer, int tag)
        : world_(world), what_(what), peer_(peer), tag_(tag) {}

    // Until the socket is ready for `events`, or a little while has passed.
    void until(int socket, short events) {
        pollfd look{.fd = socket, .events = events, .revents = 0};
        poll(&look, 1, look_ms);
        if (waited_.look_seconds() > world_.hang_timeout)
            throw Error(
                fmt::format("rank {} waited {:g} s to {} rank {} (tag {})", world_.rank().index,
                            world_.hang_timeout, what_, peer_.index, tag_),
                Exit::time_out);
    }
    // Something has moved.
    void renew() { waited_ = {}; }
    [[noreturn]] void lose() const {
        throw Error(fmt::format("rank {} lost rank {}, while it waited to {} it (tag {})",
                                world_.rank().index, peer_.index, what_, tag_),
                    Exit::rank_lost);
    }

private:
    const ProcessWorld& world_;
    const char* what_;
    Rank peer_;
    int tag_;
    AwakeTime waited_;
};

PeerMessages::PeerMessages(ProcessWorld& world)
    : world_(world),
      listening_(world.listen_for_ranks()),
      addresses_(world.addresses_of(port_of(listening_.number))),
      tokens_(gather_all(world, new_token())),
      outgoing_(as_size(world.size())),
      incoming_(as_size(world.size())) {}

void PeerMessages::expect_other_rank(Rank rank) const {
    if (rank.index >= 0 && rank.index < world_.size() && rank != world_.rank()) return;
    throw Error(
        fmt::format("rank {} cannot exchange messages with rank {}; others are ranks 0 to {}",
                    world_.rank().index, rank.index, world_.size() - 1));
}

void PeerMessages::send(std::span<const std::byte> data, Rank to, int tag) {
    expect_other_rank(to);
    Outgoing& outgoing = at(outgoing_, to);
    const std::lock_guard lock(outgoing.mutex);
    Wait wait(world_, "send to", to, tag);
    if (!outgoing.socket) {
        ConnectAttempt attempt = try_connect(at(addresses_, to));
        if (!attempt.socket) wait.lose();
        Hello hello{.rank = world_.rank().index,
                    .size = world_.size(),
                    .process = getpid(),
                    .job = at(tokens_, to)};
        send_all(attempt.socket.number, bytes_of(hello), wait);
        outgoing.socket.emplace(std::move(attempt.socket));
    }
    MessageHead head{.tag = tag, .bytes = data.size()};
    send_all(outgoing.socket->number, bytes_of(head), wait);
    send_all(outgoing.socket->number, data, wait);
}

void PeerMessages::receive(std::span<std::byte> data, Rank from, int tag) {
    expect_other_rank(from);
    Incoming& incoming = at(incoming_, from);
    const std::lock_guard lock(incoming.mutex);
    Wait wait(world_, "receive from", from, tag);
    const auto expect_length = [&](std::size_t sent) {
        if (sent != data.size())
            throw Error(fmt::format("rank {} sent {} bytes (tag {}), but rank {} receives {}",
                                    from.index, sent, tag, world_.rank().index, data.size()));
    };
    if (auto& early = incoming.early[tag]; !early.empty()) {
        const Message message = std::move(early.front());
        early.pop_front();
        expect_length(message.size());
        std::ranges::copy(message, data.begin());
        return;
    }
    if (!incoming.socket) accept_from(incoming, from, wait);
    const int socket = incoming.socket->number;
    for (;;) {
        MessageHead head;
        receive_all(socket, bytes_of(head), wait);
        if (head.tag == tag && head.bytes == data.size()) return receive_all(socket, data, wait);
        Message message(head.bytes);
        receive_all(socket, message, wait);
        if (head.tag == tag) expect_length(message.size());
        incoming.early[static_cast<int>(head.tag)].push_back(std::move(message));
    }
}

void PeerMessages::accept_from(Incoming& incoming, Rank rank, Wait& wait) {
    for (;; wait.until(listening_.number, POLLIN)) {
        const std::lock_guard lock(accepting_);
        accept_one();
        const auto found = accepted_.find(rank.index);
        if (found == accepted_.end()) continue;
        incoming.socket.emplace(std::move(found->second));
        accepted_.erase(found);
        return;
    }
}

// A rank says who it is at once; who does not is none.
void PeerMessages::accept_one() {
    OpenFile socket = accept_pending(listening_.number);
    if (!socket) return;
    Hello hello;
    AwakeTime waited;
    for (std::size_t received = 0; received < sizeof hello;) {
        const auto got =
            recv(socket.number, &bytes_of(hello)[received], sizeof hello - received, MSG_DONTWAIT);
        if (got == 0 || waited.look() > hello_ms * std::int64_t{1'000'000}) return;
        if (got > 0) {
            received += as_size(got);
            continue;
        }
        pollfd look{.fd = socket.number, .events = POLLIN, .revents = 0};
        poll(&look, 1, look_ms);
    }
    if (hello.head.is_of_tutti() && hello.job == at(tokens_, world_.rank()) && hello.rank >= 0 &&
        hello.rank < world_.size())
        accepted_.emplace(hello.rank, std::move(socket));
}

void PeerMessages::send_all(int socket, std::span<const std::byte> bytes, Wait& wait) {
    while (!bytes.empty()) {
        const auto sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) {
            bytes = bytes.subspan(as_size(sent));
            wait.renew();
        } else if (errno == EAGAIN || errno == EINTR)
            wait.until(socket, POLLOUT);
        else
            wait.lose();
    }
}

void PeerMessages::receive_all(int socket, std::span<std::byte> bytes, Wait& wait) {
    while (!bytes.empty()) {
        const auto got = recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (got > 0) {
            bytes = bytes.subspan(as_size(got));
            wait.renew();
        } else if (got < 0 && (errno == EAGAIN || errno == EINTR))
            wait.until(socket, POLLIN);
        else
            wait.lose();
    }
}

}  // namespace tutti
