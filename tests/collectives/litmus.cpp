// SPDX-License-Identifier: Apache-2.0
// The protocols by which ranks share memory, run by two threads under the thread sanitizer: it
// reports nothing with the orders that the transports use, and a race if either order is removed.
//   litmus PROTOCOL in-order|no-release|no-acquire
#include <array>
#include <cstdio>
#include <string_view>
#include <thread>

#include "base/index.hpp"
#include "collectives/transport/messages/message_queue.hpp"
#include "collectives/world/signal.hpp"

namespace tutti {
namespace {

constexpr std::uint64_t rounds = 200;

struct NoRelease : InOrder {
    static constexpr std::memory_order publishing = std::memory_order_relaxed;
};
struct NoAcquire : InOrder {
    static constexpr std::memory_order seeing = std::memory_order_relaxed;
};

void together(auto&& first, auto&& second) {
    std::thread thread(first);
    second();
    thread.join();
}

template <class Orders>
void wait_for(std::uint64_t& flag, std::uint64_t value) {
    while (seen<Orders>(flag) < value) std::this_thread::yield();
}

// Like direct plans: each rank exposes its data, adds the other's to a separate sum, and changes
// its own once the other has read it.
template <class Orders>
void step_counters() {
    struct alignas(cache_line) BufferSide {
        std::uint64_t counter = 0;
        int data = 0;
        long sum = 0;
    };
    std::array<BufferSide, 2> sides;
    const auto run = [&](int me) {
        BufferSide &mine = at(sides, me), &other = at(sides, 1 - me);
        for (std::uint64_t round = 0; round < rounds; ++round) {
            mine.data = static_cast<int>(round);
            publish<Orders>(mine.counter, 2 * round + 1);
            wait_for<Orders>(other.counter, 2 * round + 1);
            mine.sum += other.data;
            publish<Orders>(mine.counter, 2 * round + 2);
            wait_for<Orders>(other.counter, 2 * round + 2);
        }
    };
    together([&] { run(0); }, [&] { run(1); });
}

// Like direct plans in mapped memory: before a round each rank may switch to another buffer and
// publish it with a new version. The other reads this in its first wait, looks up a changed buffer,
// and accesses it; when it is done, everything may change again.
template <class Orders>
void published_buffers() {
    struct alignas(cache_line) BufferSide {
        std::uint64_t counter = 0;
        alignas(cache_line) std::uint64_t version = 0;
        int* buffer = nullptr;
        std::array<int, 2> buffers{};
        long sum = 0;
    };
    std::array<BufferSide, 2> sides;
    const auto run = [&](int me) {
        BufferSide &mine = at(sides, me), &other = at(sides, 1 - me);
        std::uint64_t known = 0;
        int* its_buffer = nullptr;
        for (std::uint64_t round = 0; round < rounds; ++round) {
            if (round % 3 == 0) {
                mine.buffer = &mine.buffers[round % 2];
                ++mine.version;
            }
            *mine.buffer = static_cast<int>(round);
            publish<Orders>(mine.counter, 2 * round + 1);
            wait_for<Orders>(other.counter, 2 * round + 1);
            if (other.version != known) {
                known = other.version;
                its_buffer = other.buffer;
            }
            mine.sum += *its_buffer;
            publish<Orders>(mine.counter, 2 * round + 2);
            wait_for<Orders>(other.counter, 2 * round + 2);
        }
    };
    together([&] { run(0); }, [&] { run(1); });
}

// Like shm-lines: data and flag in one line, a ring of them, and a count of those taken.
template <class Orders>
void ll_lines() {
    std::array<LlLine, 4> ring{};
    std::uint64_t taken = 0;
    std::array<std::byte, 8> data{};
    const auto send = [&] {
        for (std::uint64_t line = 0; line < rounds; ++line) {
            if (line >= ring.size()) wait_for<Orders>(taken, line - ring.size() + 1);
            const std::array<std::byte, 8> message{static_cast<std::byte>(line)};
            ring[line % ring.size()].template write<Orders>(message.data(), 8, line + 1);
        }
    };
    const auto take = [&] {
        for (std::uint64_t line = 0; line < rounds; ++line) {
            while (!ring[line % ring.size()].template read<Orders>(data.data(), 8, line + 1))
                std::this_thread::yield();
            publish<Orders>(taken, line + 1);
        }
    };
    together(send, take);
}

// Like loopback: the address of the message is passed, and its owner may change it once it is
// taken.
template <class Orders>
void message_line() {
    MessageQueue<Orders> line;
    line.make_room_for(2);
    std::array<std::byte, 8> message{}, copy{};
    const auto send = [&] {
        for (std::uint64_t number = 1; number <= rounds; ++number) {
            message[0] = static_cast<std::byte>(number);
            line.send(message);
            while (line.taken() < number) std::this_thread::yield();
        }
    };
    const auto take = [&] {
        for (std::uint64_t number = 1; number <= rounds; ++number)
            while (!line.take(copy)) std::this_thread::yield();
    };
    together(send, take);
}

template <class Orders>
bool run(std::string_view protocol) {
    if (protocol == "step-counters") return step_counters<Orders>(), true;
    if (protocol == "published-buffers") return published_buffers<Orders>(), true;
    if (protocol == "ll-lines") return ll_lines<Orders>(), true;
    if (protocol == "message-line") return message_line<Orders>(), true;
    return false;
}

bool run(std::string_view protocol, std::string_view orders) {
    if (orders == "in-order") return run<InOrder>(protocol);
    if (orders == "no-release") return run<NoRelease>(protocol);
    if (orders == "no-acquire") return run<NoAcquire>(protocol);
    return false;
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
    if (argc == 3 && tutti::run(argv[1], argv[2])) return 0;
    std::fputs(
        "usage: litmus step-counters|published-buffers|ll-lines|message-line "
        "in-order|no-release|no-acquire\n",
        stderr);
    return 64;
}
