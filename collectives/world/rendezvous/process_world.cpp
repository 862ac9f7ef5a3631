// SPDX-License-Identifier: Apache-2.0
#include "collectives/world/rendezvous/process_world.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "base/index.hpp"
#include "collectives/world/backoff.hpp"
#include "collectives/world/different_calls.hpp"
#include "collectives/world/host_processes.hpp"
#include "collectives/world/world.hpp"

namespace tutti {
namespace {

constexpr Rank rank0{0};
constexpr timespec a_while{.tv_sec = 0, .tv_nsec = 200'000};

const char* describe(FrameKind kind) {
    switch (kind) {
        case FrameKind::barrier:
            return "a barrier";
        case FrameKind::all_gather:
            return "an all-gather of setup data";
        case FrameKind::broadcast:
            return "a broadcast from rank 0";
        default:
            return "nothing more";
    }
}

// Throws the error of a rank that meets a different call on another rank.
[[noreturn]] void throw_different(Rank me, const Frame& mine, Rank other, const Frame& of_other) {
    if (of_other.kind == FrameKind::goodbye)
        throw Error(fmt::format("rank {} waits for {}, but rank {} has left", me.index,
                                describe(mine.kind), other.index),
                    Exit::rank_lost);
    std::string numbers;
    if (of_other.call != mine.call && of_other.call != 0)
        numbers = fmt::format(" (call number {} there, {} here)", of_other.call, mine.call);
    throw DifferentCalls(fmt::format(
        "ranks are in different calls: rank {} is in {}, rank {} in {} of {} bytes{}", me.index,
        describe(mine.kind), other.index, describe(of_other.kind), of_other.bytes, numbers));
}

}  // namespace

// One collective call of this rank. If it is interrupted, for whatever reason, no further call is
// possible, because its frames may be partly sent.
class ProcessWorld::Waiting {
public:
    Waiting(ProcessWorld& world, FrameKind what)
        : world_(world), what_(describe(what)), backoff_(world, barrier_timeout_factor) {
        if (world.has_failed_)
            throw Error(fmt::format("rank {} cannot join {}: an earlier call failed",
                                    world.rank().index, what_),
                        Exit::rank_lost);
        ++world.call_;
    }
    ~Waiting() {
        if (std::uncaught_exceptions() != unwinding_before_) world_.has_failed_ = true;
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    // Waits for ranks that work for up to `working_seconds` before they join.
    Waiting(ProcessWorld& world, FrameKind what, double working_seconds) : Waiting(world, what) {
        asleep_limit_ = working_seconds + world.hang_timeout * barrier_timeout_factor;
    }

    // Call this after each poll that found nothing.
    void pause() {
        world_.heartbeat();
        world_.make_progress();
        const bool is_over =
            asleep_limit_ ? waited_.look_seconds() > *asleep_limit_ : !backoff_.pause();
        if (is_over) world_.give_up(what_, times());
        if (asleep_limit_ || backoff_.wants_sleep()) world_.sleep_briefly(*this);
    }
    // Returns the maximum duration in hang timeouts.
    double times() const {
        return asleep_limit_ ? *asleep_limit_ / world_.hang_timeout : barrier_timeout_factor;
    }
    const std::string& what() const { return what_; }

private:
    ProcessWorld& world_;
    std::string what_;
    Backoff backoff_;
    std::optional<double> asleep_limit_;
    AwakeTime waited_;
    int unwinding_before_ = std::uncaught_exceptions();
};

ProcessWorld::ProcessWorld(Rank rank, int size, std::vector<OpenFile> connections,
                           double its_hang_timeout)
    : rank_(rank),
      size_(size),
      connections_(std::move(connections)),
      hosts_(Placement::one_node(size)),
      incoming_(as_size(size)),
      unwinding_before_(std::uncaught_exceptions()) {
    hang_timeout = its_hang_timeout;
    RanksOnHosts ranks = ranks_on_hosts(*this, name_of_this_host());
    hosts_ = std::move(ranks.hosts);
    processes = std::move(ranks.processes);
    oversubscribed = ranks.are_oversubscribed;
    neighbours_.emplace(*this);
}

// Sends no goodbye if an error unwinds this rank: the others must not wait for it.
ProcessWorld::~ProcessWorld() {
    if (!has_failed_ && !has_given_up && std::uncaught_exceptions() == unwinding_before_)
        notify(FrameKind::goodbye, {}, rank_);
}

int ProcessWorld::socket_to(Rank peer) const {
    return connections_[is_first() ? as_size(peer.index - 1) : 0].number;
}

void ProcessWorld::barrier() {
    Waiting waiting(*this, FrameKind::barrier);
    exchange(FrameKind::barrier, {}, {}, waiting);
}

void ProcessWorld::sleeping_barrier(double seconds) {
    Waiting waiting(*this, FrameKind::barrier, seconds);
    exchange(FrameKind::barrier, {}, {}, waiting);
}

void ProcessWorld::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
    if (mine.empty()) return;
    Waiting waiting(*this, FrameKind::all_gather);
    exchange(FrameKind::all_gather, mine, all, waiting);
}

void ProcessWorld::broadcast(std::span<std::byte> data) {
    if (data.empty()) return;
    Waiting waiting(*this, FrameKind::broadcast);
    heartbeat();
    if (!is_first()) return receive_answer(FrameKind::broadcast, data, waiting);
    for (int rank = 1; rank < size_; ++rank) send({rank}, FrameKind::broadcast, data, waiting);
}

// Gathers all data on rank 0, which sends it to all.
void ProcessWorld::exchange(FrameKind kind, std::span<const std::byte> mine,
                            std::span<std::byte> all, Waiting& waiting) {
    heartbeat();
    if (!is_first()) {
        send(rank0, kind, mine, waiting);
        return receive_answer(kind, all, waiting);
    }
    if (!mine.empty()) std::memcpy(all.data(), mine.data(), mine.size());
    std::ranges::fill(incoming_, Incoming{});
    is_gathering_ = true;
    for (int missing = size_ - 1; missing > 0;) {
        bool has_come = false;
        for (int rank = 1; rank < size_; ++rank) {
            Incoming& incoming = at(incoming_, rank);
            if (incoming.is_complete) continue;
            has_come |= advance(incoming, kind, {rank},
                                all.subspan(as_size(rank) * mine.size(), mine.size()));
            if (incoming.is_complete) --missing;
        }
        if (!has_come) waiting.pause();
    }
    is_gathering_ = false;
    for (int rank = 1; rank < size_; ++rank) send({rank}, kind, all, waiting);
}

Frame ProcessWorld::frame_of(FrameKind kind, std::size_t bytes) const {
    return {.kind = kind, .call = call_, .bytes = bytes};
}

// Returns whether any data arrived.
bool ProcessWorld::advance(Incoming& incoming, FrameKind kind, Rank from,
                           std::span<std::byte> into) {
    constexpr std::size_t head = sizeof(Frame);
    const std::size_t before = incoming.received;
    if (incoming.received < head) {
        incoming.received += receive_some(from, &bytes_of(incoming.frame)[incoming.received],
                                          head - incoming.received);
        if (incoming.received < head) return incoming.received > before;
        const Frame expected = frame_of(kind, into.size());
        if (incoming.frame != expected) throw_different(rank_, expected, from, incoming.frame);
    }
    if (const std::size_t done = incoming.received - head; done < into.size())
        incoming.received += receive_some(from, &into[done], into.size() - done);
    incoming.is_complete = incoming.received == head + into.size();
    return incoming.is_complete || incoming.received > before;
}

// Returns the number of bytes that have arrived, 0 if there are none yet.
std::size_t ProcessWorld::receive_some(Rank from, std::byte* into, std::size_t bytes) {
    const auto got = recv(socket_to(from), into, bytes, MSG_DONTWAIT);
    if (got > 0) return as_size(got);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    lose(from);
}

void ProcessWorld::receive(Rank from, std::span<std::byte> into, Waiting& waiting) {
    while (!into.empty()) {
        const std::size_t got = receive_some(from, into.data(), into.size());
        into = into.subspan(got);
        if (got == 0) waiting.pause();
    }
}

void ProcessWorld::receive_answer(FrameKind kind, std::span<std::byte> into, Waiting& waiting) {
    Frame frame;
    receive(rank0, bytes_of(frame), waiting);
    const Frame expected = frame_of(kind, into.size());
    if (frame == expected) return receive(rank0, into, waiting);
    if (frame.kind != FrameKind::absent && frame.kind != FrameKind::lost)
        throw_different(rank_, expected, rank0, frame);
    std::vector<Rank> ranks(frame.bytes / sizeof(Rank));
    receive(rank0, std::as_writable_bytes(std::span(ranks)), waiting);
    if (frame.kind == FrameKind::lost) throw_lost(ranks.at(0));
    throw failed(Error(waited_for(*this, waiting.what(), waiting.times(), ranks), Exit::time_out));
}

void ProcessWorld::send(Rank to, FrameKind kind, std::span<const std::byte> data,
                        Waiting& waiting) {
    Frame frame = frame_of(kind, data.size());
    send_bytes(to, bytes_of(frame), data.empty() ? 0 : MSG_MORE, waiting);
    send_bytes(to, data, 0, waiting);
}

void ProcessWorld::send_bytes(Rank to, std::span<const std::byte> bytes, int flags,
                              Waiting& waiting) {
    while (!bytes.empty()) {
        const auto sent =
            ::send(socket_to(to), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT | flags);
        if (sent > 0)
            bytes = bytes.subspan(as_size(sent));
        else if (errno == EAGAIN || errno == EINTR)
            waiting.pause();
        else
            lose(to);
    }
}

// Sleeps until data arrives, but not for long: plans in progress continue meanwhile.
void ProcessWorld::sleep_briefly(const Waiting& waiting) {
    std::vector<pollfd> looks;
    for (const OpenFile& connection : connections_)
        looks.push_back({.fd = connection.number, .events = POLLIN | POLLRDHUP, .revents = 0});
    if (!is_first() || is_gathering_)
        ppoll(looks.data(), looks.size(), &a_while, nullptr);
    else
        nanosleep(&a_while, nullptr);
    check_neighbours();
    // A rank whose part has arrived sends nothing more, unless it gives up or is lost.
    for (int rank = 1; is_gathering_ && rank < size_; ++rank) {
        if (looks[as_size(rank - 1)].revents == 0 || !at(incoming_, rank).is_complete) continue;
        if (next_kind({rank}) == FrameKind::roll_call) give_up(waiting.what(), waiting.times());
    }
}

}  // namespace tutti
