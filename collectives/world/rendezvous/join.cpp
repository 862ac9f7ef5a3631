// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <cerrno>
#include <optional>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "collectives/world/rendezvous/server.hpp"

namespace tutti {
namespace {

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
