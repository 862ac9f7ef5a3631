// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated_gpu/nccl/group.hpp"

#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace tutti::simulated {
namespace {

struct Envelope {
    std::uint64_t bytes, sort;
    bool operator==(const Envelope&) const = default;
};

Envelope envelope_of(const Message& message) { return {message.memory.size(), message.sort}; }

// Returns true once the whole message is sent.
bool send(Message& message, Pipe& pipe) {
    const Envelope envelope = envelope_of(message);
    if (message.done < sizeof envelope)
        message.done += pipe.write(std::as_bytes(std::span(&envelope, 1)).subspan(message.done));
    if (message.done < sizeof envelope) return false;
    message.done += pipe.write(message.memory.subspan(message.done - sizeof envelope));
    return message.done == sizeof envelope + message.memory.size();
}

bool receive(Message& message, Pipe& pipe, int me) {
    Envelope envelope{};
    if (message.done == 0) {
        if (pipe.waiting() < sizeof envelope) return false;
        pipe.read(std::as_writable_bytes(std::span(&envelope, 1)));
        if (envelope != envelope_of(message))
            throw std::runtime_error(
                "rank " + std::to_string(me) + " expects " + std::to_string(message.memory.size()) +
                " bytes (sort " + std::to_string(message.sort) + ") from rank " +
                std::to_string(message.peer) + ", which sends " + std::to_string(envelope.bytes) +
                " (sort " + std::to_string(envelope.sort) + ")");
        message.done = sizeof envelope;
    }
    message.done += pipe.read(message.memory.subspan(message.done - sizeof envelope));
    return message.done == sizeof envelope + message.memory.size();
}

bool is_done(const Message& message) {
    return message.done == sizeof(Envelope) + message.memory.size();
}

}  // namespace

bool Group::go_on(Mailbox& mailbox, int me) {
    using enum Message::Direction;
    std::set<std::pair<Message::Direction, int>> busy;  // with an earlier message
    bool all_done = true;
    for (Work& work : works_) {
        bool done = true;
        for (Message& message : work.messages) {
            if (is_done(message)) continue;
            const bool first = !busy.contains({message.direction, message.peer});
            if (first &&
                (message.direction == out ? send(message, mailbox.pipe(me, message.peer))
                                          : receive(message, mailbox.pipe(message.peer, me), me)))
                continue;
            busy.emplace(message.direction, message.peer);
            done = false;
        }
        if (done) std::exchange(work.finish, [] {})();
        all_done = all_done && done;
    }
    return all_done;
}

}  // namespace tutti::simulated
