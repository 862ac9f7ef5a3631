// SPDX-License-Identifier: Apache-2.0
// How a rank detects that another one is lost or late, and notifies the others.
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/index.hpp"
#include "collectives/world/rendezvous/process_world.hpp"
#include "collectives/world/world.hpp"

namespace tutti {
namespace {

// Time for rank 0 to answer a roll call while it waits for other ranks, too.
constexpr double seconds_for_answer = 1.5;
// Grace time after a process has ended: rank 0 may still report that the rank ended normally, or
// another rank may still deliver data for a plan that rank 0 has finished.
constexpr double seconds_for_good_end = 1;

}  // namespace

// Sends to every connected rank except `but`, without blocking.
void ProcessWorld::notify(FrameKind kind, std::span<const Rank> ranks, Rank but) noexcept {
    std::byte message[sizeof(Frame) + 4096];
    const std::size_t bytes = std::min(ranks.size_bytes(), sizeof message - sizeof(Frame));
    const Frame frame{.kind = kind, .bytes = bytes};
    std::memcpy(message, &frame, sizeof frame);
    if (bytes > 0) std::memcpy(message + sizeof frame, ranks.data(), bytes);
    for (std::size_t i = 0; i < connections_.size(); ++i)
        if (!is_first() || static_cast<int>(i) + 1 != but.index)
            ::send(connections_[i].number, message, sizeof frame + bytes,
                   MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Returns the kind of the next frame from that rank if one has arrived. Throws if the connection
// has ended.
std::optional<FrameKind> ProcessWorld::next_kind(Rank from) {
    Frame frame;
    const auto got = recv(socket_to(from), &frame, sizeof frame, MSG_PEEK | MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) lose(from);
    if (got < static_cast<ssize_t>(sizeof frame)) return std::nullopt;
    return frame.kind;
}

// Rank 0 may be busy when another rank is lost, and a child process of the lost rank may keep its
// connection open. A process that ends normally has met this one in a barrier before, whose end
// arrives soon.
void ProcessWorld::check_neighbours() {
    const auto ended = neighbours_ ? neighbours_->ended() : std::nullopt;
    if (ended && grace_period_is_over()) lose(*ended);
}

// Whether the grace time has passed since the first call.
bool ProcessWorld::grace_period_is_over() {
    if (!gone_since_) gone_since_ = now_ns();
    return seconds_since(*gone_since_) > seconds_for_good_end;
}

void ProcessWorld::throw_if_lost() {
    if (size_ == 1) return;
    check_neighbours();
    if (!is_first()) return throw_if_rank0_ends();
    std::vector<pollfd> looks;
    for (const OpenFile& connection : connections_)
        looks.push_back({.fd = connection.number, .events = POLLRDHUP, .revents = 0});
    if (poll(looks.data(), looks.size(), 0) <= 0) return;
    for (int rank = 1; rank < size_; ++rank)
        if (looks[as_size(rank - 1)].revents != 0) lose({rank});
}

void ProcessWorld::throw_if_rank0_ends() {
    const auto kind = next_kind({0});
    if (kind == FrameKind::lost) throw_lost(read_ranks().at(0));
    const bool has_left = kind == FrameKind::goodbye && grace_period_is_over();
    if (has_left || kind == FrameKind::absent)
        throw failed(Error(fmt::format("rank {} waits{}, but rank 0 has {}", rank_.index,
                                       in_activity(), has_left ? "left" : "given up"),
                           Exit::rank_lost));
}

std::vector<Rank> ProcessWorld::absent_ranks() const {
    std::vector<Rank> absent;
    for (int rank = 1; is_gathering_ && rank < size_; ++rank)
        if (!at(incoming_, rank).is_complete) absent.push_back({rank});
    return absent;
}

void ProcessWorld::give_up(const std::string& what, double times) {
    has_failed_ = true;
    std::vector<Rank> absent = absent_ranks();
    if (is_first())
        notify(FrameKind::absent, absent, rank_);
    else
        absent = call_roll();
    throw Error(waited_for(*this, what, times, absent), Exit::time_out);
}

// Asks rank 0 which ranks it waits for; without an answer, rank 0 itself is absent.
std::vector<Rank> ProcessWorld::call_roll() {
    notify(FrameKind::roll_call, {}, rank_);
    pollfd answer{.fd = socket_to({0}), .events = POLLIN, .revents = 0};
    if (poll(&answer, 1, static_cast<int>(seconds_for_answer * 1000)) > 0 &&
        next_kind({0}) == FrameKind::absent)
        return read_ranks();
    return {Rank{0}};
}

// Reads the ranks in a small frame from rank 0 that has arrived completely.
std::vector<Rank> ProcessWorld::read_ranks() {
    Frame frame;
    recv(socket_to({0}), &frame, sizeof frame, MSG_DONTWAIT);
    std::vector<Rank> ranks(frame.bytes / sizeof(Rank));
    recv(socket_to({0}), ranks.data(), ranks.size() * sizeof(Rank), MSG_DONTWAIT);
    return ranks;
}

void ProcessWorld::lose(Rank lost) {
    if (is_first()) notify(FrameKind::lost, std::span(&lost, 1), lost);
    throw_lost(lost);
}

void ProcessWorld::throw_lost(Rank lost) {
    throw failed(Error(fmt::format("rank {} lost rank {}{}: its process or its connection ended "
                                   "without a goodbye",
                                   rank_.index, lost.index, in_activity()),
                       Exit::rank_lost));
}

// Marks this rank as failed: the others treat it as lost from now on.
Error ProcessWorld::failed(Error error) {
    has_failed_ = true;
    return error;
}

}  // namespace tutti
