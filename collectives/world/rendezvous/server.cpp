// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/rendezvous/server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

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

// The pause between attempts. It grows from 10 ms, so that many ranks do not flood rank 0's host.
class RetryPause {
public:
    void sleep() {
        const timespec pause{.tv_sec = 0, .tv_nsec = milliseconds_ * 1'000'000};
        nanosleep(&pause, nullptr);
        milliseconds_ = std::min(milliseconds_ * 2, 200L);
    }

private:
    long milliseconds_ = 10;
};

// Returns rank 0's answer; none if the connection ends first, e.g. because that job is just ending.
std::optional<Answer> answer_of(const OpenFile& socket, AwakeTime& waited, double deadline) {
    Answer answer;
    for (std::size_t received = 0; received < sizeof answer;) {
        const auto got = recv(socket.number, reinterpret_cast<char*>(&answer) + received,
                              sizeof answer - received, MSG_DONTWAIT);
        if (got > 0) {
            received += as_size(got);
            if (received >= sizeof(HandshakeHead) && !answer.head.is_of_tutti()) return answer;
            continue;
        }
        if (got == 0 || (errno != EAGAIN && errno != EINTR)) return std::nullopt;
        // Rank 0 gives up first, because it can name the missing ranks.
        if (waited.look_seconds() > deadline + 2) return std::nullopt;
        pollfd ready{.fd = socket.number, .events = POLLIN, .revents = 0};
        poll(&ready, 1, 50);
    }
    return answer;
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

OpenFile join_rank0(const TcpAddress& address, const Hello& hello, double deadline_seconds) {
    const std::string me = "rank " + std::to_string(hello.rank);
    AwakeTime waited;
    RetryPause pause;
    std::string problem;
    for (;;) {
        ConnectAttempt attempt = try_connect(address);
        problem = attempt.problem;
        if (attempt.socket) {
            problem = "it answers, but other ranks are missing";
            [[maybe_unused]] const auto sent =
                send(attempt.socket.number, &hello, sizeof hello, MSG_NOSIGNAL);
            if (const auto answer = answer_of(attempt.socket, waited, deadline_seconds)) {
                if (!answer->head.is_of_tutti())
                    throw Error(
                        fmt::format("{} connected to {}, but a program other than "
                                    "rank 0 answers there; use another port",
                                    me, to_string(address)));
                if (answer->admission == Admission::too_late)
                    throw Error(me + ": " + answer->why, Exit::time_out);
                if (answer->admission == Admission::refused)
                    throw Error("rank 0 refuses this process as " + me + ": " + answer->why);
                return std::move(attempt.socket);
            }
        }
        if (waited.look_seconds() > deadline_seconds)
            throw Error(
                fmt::format("{} waited {:g} s for rank 0 at {}: {}; is rank 0 running, and is this "
                            "the address of its host?",
                            me, deadline_seconds, to_string(address), problem),
                Exit::time_out);
        pause.sleep();
    }
}

}  // namespace tutti
