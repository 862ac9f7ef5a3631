// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/rendezvous/server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "collectives/world/rendezvous/address.hpp"

namespace tutti {
namespace {

// A rank sends its hello at once; a connection that is silent for this long is not from a rank.
constexpr double seconds_for_hello = 5;
// Maximum number of silent connections; the oldest are closed to make room.
constexpr std::size_t most_pending = 1024;

// The message fits into the empty buffer of a new connection.
void say(const OpenFile& socket, const Answer& answer) {
    [[maybe_unused]] const auto sent =
        send(socket.number, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

RendezvousServer::RendezvousServer(OpenFile listening, Expected expected)
    : listening_(std::move(listening)),
      expected_(std::move(expected)),
      members_(as_size(expected_.size)),
      missing_(expected_.size - 1) {}

int RendezvousServer::port() const { return port_of(listening_.number); }

std::vector<OpenFile> RendezvousServer::all_connections(double deadline_seconds) {
    AwakeTime waited;
    while (missing_ > 0) {
        accept_all();
        forget_ended();  // frees the places of ranks that ended and were started again
        read_hellos();
        forget_ended();
        if (missing_ == 0) break;
        if (waited.look_seconds() > deadline_seconds) give_up(deadline_seconds);
        sleep_until_something_comes();
    }
    std::vector<OpenFile> connections;
    for (auto& member : members_)
        if (member) {
            say(member->socket, {});
            connections.push_back(std::move(member->socket));
        }
    return connections;
}

void RendezvousServer::accept_all() {
    for (;;) {
        OpenFile socket = accept_pending(listening_.number);
        if (!socket) return;
        if (pending_.size() == most_pending) pending_.pop_front();
        const std::string from = far_end(socket.number).host;
        pending_.push_back({std::move(socket), from, now_ns()});
    }
}

void RendezvousServer::read_hellos() {
    for (auto pending = pending_.begin(); pending != pending_.end();)
        pending = read_hello(*pending) ? pending_.erase(pending) : std::next(pending);
}

// Whether the connection is settled: it now belongs to a rank, was refused, has ended or is silent.
bool RendezvousServer::read_hello(PendingConnection& pending) {
    auto* const into = reinterpret_cast<char*>(&pending.hello) + pending.received;
    const auto got =
        recv(pending.socket.number, into, sizeof(Hello) - pending.received, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return true;
    if (got > 0) pending.received += as_size(got);
    if (pending.received >= sizeof(HandshakeHead) && !pending.hello.head.is_of_tutti()) {
        ++refused_;
        last_refusal_ = pending.from + " speaks another protocol";
        return true;
    }
    const bool is_other_version = pending.received >= sizeof(HandshakeHead) &&
                                  pending.hello.head.version != HandshakeHead::this_version;
    if (pending.received < sizeof(Hello) && !is_other_version)
        return seconds_since(pending.since_ns) > seconds_for_hello;
    admit(pending);
    return true;
}

void RendezvousServer::admit(PendingConnection& pending) {
    const Hello& hello = pending.hello;
    if (const auto why = refusal_of(hello)) {
        ++refused_;
        last_refusal_ = fmt::format("process {} from {}: {}", hello.process, pending.from, *why);
        return say(pending.socket, Answer::no(Admission::refused, *why));
    }
    at(members_, hello.rank)
        .emplace(Member{std::move(pending.socket), pending.from, hello.process});
    --missing_;
}

std::optional<std::string> RendezvousServer::refusal_of(const Hello& hello) const {
    if (hello.head.version != HandshakeHead::this_version)
        return fmt::format(
            "it speaks version {} of the rendezvous, rank 0 version {}; start all "
            "ranks with the same tutti",
            hello.head.version, HandshakeHead::this_version);
    if (hello.job != expected_.job)
        return "it belongs to another job; use the same job id in all processes, and for each job "
               "a port "
               "of its own";
    if (hello.size != expected_.size)
        return fmt::format("it is one of {} ranks, rank 0 one of {}; use the same size for all",
                           hello.size, expected_.size);
    if (hello.rank < 1 || hello.rank >= expected_.size)
        return fmt::format("there is no rank {} to join rank 0; ranks are 0 to {}, each once",
                           hello.rank, expected_.size - 1);
    if (const auto& member = at(members_, hello.rank))
        return fmt::format(
            "rank {} has already joined (process {} from {}); use a rank of its own "
            "for each process",
            hello.rank, member->process, member->from);
    return std::nullopt;
}

// Forgets a rank that ended before all ranks had joined; it may be started again.
void RendezvousServer::forget_ended() {
    for (auto& member : members_) {
        char byte = 0;
        if (!member) continue;
        const auto got = recv(member->socket.number, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        if (got != 0 && (got > 0 || errno == EAGAIN || errno == EINTR)) continue;
        member.reset();
        ++missing_;
    }
}

void RendezvousServer::sleep_until_something_comes() const {
    std::vector<pollfd> all{{.fd = listening_.number, .events = POLLIN, .revents = 0}};
    for (const auto& pending : pending_)
        all.push_back({.fd = pending.socket.number, .events = POLLIN, .revents = 0});
    poll(all.data(), all.size(), 50);
}

void RendezvousServer::give_up(double deadline_seconds) {
    std::string missing;
    int named = 0;
    for (int rank = 1; rank < expected_.size; ++rank)
        if (!at(members_, rank) && ++named <= 16)
            missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
    if (missing_ > 16) missing += ", ...";
    const std::string who =
        fmt::format("{} of {} ranks did not connect to {}: {} {}", missing_, expected_.size,
                    expected_.where, missing_ == 1 ? "rank" : "ranks", missing);
    for (const auto& member : members_)
        if (member) say(member->socket, Answer::no(Admission::too_late, who));
    throw Error(fmt::format("rank 0 waited {:g} s: {}{}", deadline_seconds, who,
                            refused_ == 0 ? ""
                                          : fmt::format("; refused: {}, the last one was {}",
                                                        refused_, last_refusal_)),
                Exit::time_out);
}

}  // namespace tutti
