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
#include "collectives/world/rendezvous/protocol.hpp"

namespace tutti {
namespace {

constexpr int look_ms = 20;
constexpr int hello_ms = 5000;
constexpr int connect_ms = 900;  // shorter than the gaps that AwakeTime leaves out
constexpr double seconds_before_watching = 1;
constexpr int no_socket = -1;

struct MessageHead {
    std::int64_t tag = 0;
    std::uint64_t bytes = 0;
};

std::uint64_t new_token() {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
}

}  // namespace

// The state of one wait for another rank.
class PeerMessages::Wait {
public:
    Wait(const ProcessWorld& world, const char* what, Rank peer, int tag)
        : world_(world), what_(what), peer_(peer), tag_(tag) {}

    // Waits until the socket is ready for `events` or a short time has passed.
    void until(int socket, short events) {
        pollfd look{.fd = socket, .events = events, .revents = 0};
        poll(&look, 1, look_ms);
        if (seconds() > world_.hang_timeout)
            throw Error(
                fmt::format("rank {} waited {:g} s to {} rank {} (tag {})", world_.rank().index,
                            world_.hang_timeout, what_, peer_.index, tag_),
                Exit::time_out);
    }
    double seconds() { return waited_.look_seconds(); }
    // Restarts the timeout after progress.
    void renew() {
        waited_ = {};
        has_moved_ = true;
    }
    void begin_message() { has_moved_ = false; }
    bool has_moved() const { return has_moved_; }
    void expect_whole(const Line& line) const {
        if (line.is_cut)
            throw Error(
                fmt::format("rank {} can no longer {} rank {}: an earlier message was cut off",
                            world_.rank().index, what_, peer_.index),
                Exit::rank_lost);
    }
    [[noreturn]] void lose() const {
        throw Error(fmt::format("rank {} lost rank {} while waiting to {} it (tag {})",
                                world_.rank().index, peer_.index, what_, tag_),
                    Exit::rank_lost);
    }

private:
    const ProcessWorld& world_;
    const char* what_;
    Rank peer_;
    int tag_;
    AwakeTime waited_;
    bool has_moved_ = false;  // any part of the message
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
    throw Error(fmt::format(
        "rank {} cannot exchange messages with rank {}; its peers are the other ranks from 0 to {}",
        world_.rank().index, rank.index, world_.size() - 1));
}

void PeerMessages::send(std::span<const std::byte> data, Rank to, int tag) {
    expect_other_rank(to);
    Line& outgoing = at(outgoing_, to);
    const std::lock_guard lock(outgoing.mutex);
    Wait wait(world_, "send to", to, tag);
    wait.expect_whole(outgoing);
    while (!outgoing.socket) {
        if (!connect(outgoing, to)) wait.lose();
        if (!outgoing.socket) wait.until(no_socket, 0);
    }
    move_whole(outgoing, wait, [&] {
        MessageHead head{.tag = tag, .bytes = data.size()};
        send_all(outgoing.socket->number, bytes_of(head), wait);
        send_all(outgoing.socket->number, data, wait);
    });
}

// Tries once to connect; returns false if no process listens there any more.
bool PeerMessages::connect(Line& outgoing, Rank to) {
    ConnectAttempt attempt = try_connect(at(addresses_, to), connect_ms);
    if (!attempt.socket) return !attempt.is_refused;
    const Hello hello{.rank = world_.rank().index,
                      .size = world_.size(),
                      .process = getpid(),
                      .job = at(tokens_, to)};
    // The message fits into the empty buffer of a new connection.
    if (::send(attempt.socket.number, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello)
        outgoing.socket.emplace(std::move(attempt.socket));
    return true;
}

// Moves one message. If it is cut off, its rest must not be read as the next message.
template <class Move>
void PeerMessages::move_whole(Line& line, Wait& wait, Move&& move) {
    wait.begin_message();
    try {
        move();
    } catch (...) {
        if (wait.has_moved()) {
            line.is_cut = true;
            line.socket.reset();
        }
        throw;
    }
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
    if (const auto early = incoming.early.find(tag); early != incoming.early.end()) {
        const Message message = std::move(early->second.front());
        early->second.pop_front();
        if (early->second.empty()) incoming.early.erase(early);
        expect_length(message.size());
        std::ranges::copy(message, data.begin());
        return;
    }
    wait.expect_whole(incoming);
    if (!incoming.socket) accept_from(incoming, from, wait);
    const int socket = incoming.socket->number;
    for (;;) {
        MessageHead head;
        Message other;
        const auto is_it = [&] { return head.tag == tag && head.bytes == data.size(); };
        move_whole(incoming, wait, [&] {
            receive_all(socket, bytes_of(head), wait);
            if (!is_it()) other.resize(head.bytes);
            receive_all(socket, is_it() ? data : std::span(other), wait);
        });
        if (is_it()) return;
        if (head.tag == tag) expect_length(other.size());
        incoming.early[static_cast<int>(head.tag)].push_back(std::move(other));
    }
}

// A rank that has left may have sent a message before.
void PeerMessages::accept_from(Incoming& incoming, Rank rank, Wait& wait) {
    bool has_left = false;
    while (!has_accepted(incoming, rank)) {
        if (has_left) wait.lose();
        wait.until(listening_.number, POLLIN);
        has_left = wait.seconds() > seconds_before_watching && has_ended(rank);
    }
}

bool PeerMessages::has_accepted(Incoming& incoming, Rank rank) {
    const std::lock_guard lock(accepting_);
    while (accept_one()) {
    }
    const auto found = accepted_.find(rank.index);
    if (found == accepted_.end()) return false;
    incoming.socket.emplace(std::move(found->second));
    accepted_.erase(found);
    return true;
}

// Whether the rank has ended, as the connection for messages to it shows. Makes that connection if
// there is none.
bool PeerMessages::has_ended(Rank rank) {
    Line& outgoing = at(outgoing_, rank);
    const std::unique_lock lock(outgoing.mutex, std::try_to_lock);
    if (!lock || outgoing.is_cut) return false;
    if (!outgoing.socket && !connect(outgoing, rank)) return true;
    if (!outgoing.socket) return false;
    pollfd look{.fd = outgoing.socket->number, .events = POLLRDHUP, .revents = 0};
    return poll(&look, 1, 0) > 0;
}

// Accepts one pending connection; returns false if there is none. A rank identifies itself at once;
// other connections are dropped.
bool PeerMessages::accept_one() {
    OpenFile socket = accept_pending(listening_.number);
    if (!socket) return false;
    Hello hello;
    AwakeTime waited;
    for (std::size_t received = 0; received < sizeof hello;) {
        const auto got =
            recv(socket.number, &bytes_of(hello)[received], sizeof hello - received, MSG_DONTWAIT);
        if (got == 0 || waited.look() > hello_ms * std::int64_t{1'000'000}) return true;
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
    return true;
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
