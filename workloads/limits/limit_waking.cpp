// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <atomic>
#include <thread>

#include "base/clock.hpp"
#include "collectives/world/futex.hpp"
#include "collectives/world/signal.hpp"
#include "workloads/limits/limit_signal_latency.hpp"
#include "workloads/timing/pinning.hpp"

namespace tutti {
// Two threads take turns: one counts from odd to even, the other from even to odd.
double yield_ns(int cpu) {
    constexpr int turns = 200;
    std::atomic<int> turn{0};
    std::int64_t began = 0, ended = 0;
    const auto play = [&](int first) {
        run_on(cpu);
        for (int mine = first; mine < turns; mine += 2) {
            while (turn.load(std::memory_order_acquire) != mine) sched_yield();
            if (mine == 1) began = now_ns();  // both are there
            turn.store(mine + 1, std::memory_order_release);
        }
        if (first == 1) ended = now_ns();  // the last turn
    };
    std::thread even(play, 0);
    std::thread odd(play, 1);
    even.join();
    odd.join();
    return static_cast<double>(ended - began) / (turns - 2);
}

double wake_ns(int from_cpu, int to_cpu) {
    constexpr int times = 5;
    constexpr std::int64_t time_to_fall_asleep_ns = 100'000, second_ns = 1'000'000'000;
    double least = 0;
    for (int i = 0; i < times; ++i) {
        std::uint64_t word = 0;
        std::atomic<bool> is_there{false};
        std::int64_t woken = 0, ran = 0;
        std::thread sleeper([&] {
            run_on(to_cpu);
            is_there.store(true, std::memory_order_release);
            while (seen(word) == 0) sleep_while(word, 0, second_ns);
            ran = now_ns();
        });
        std::thread waker([&] {
            run_on(from_cpu);
            while (!is_there.load(std::memory_order_acquire)) sched_yield();
            for (const std::int64_t from = now_ns(); now_ns() - from < time_to_fall_asleep_ns;)
                sched_yield();
            woken = now_ns();
            publish(word, 1);
            wake_sleepers(word);
        });
        sleeper.join();
        waker.join();
        keep_least(least, static_cast<double>(ran - woken));
    }
    return least;
}

}  // namespace tutti
