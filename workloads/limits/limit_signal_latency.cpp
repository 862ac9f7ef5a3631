// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "base/clock.hpp"
#include "base/clock_cost.hpp"
#include "base/index.hpp"
#include "collectives/world/signal.hpp"
#include "workloads/limits/limit_curves.hpp"
#include "workloads/timing/pinning.hpp"

namespace tutti {
namespace {

constexpr int rounds_of_pair = 50;
constexpr int times_of_pair = 8;
constexpr std::int64_t staged_pieces[] = {4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20};
constexpr std::int64_t staged_window = 1 << 20;
constexpr std::int64_t single_copies[] = {4 << 10, 64 << 10, 1 << 20, 16 << 20};

template <std::size_t size>
Rates zero_rates(const std::int64_t (&sizes)[size]) {
    Rates rates;
    for (const std::int64_t bytes : sizes) rates.bytes.push_back({bytes});
    rates.gbps.resize(size);
    return rates;
}

// Measures the time from one thread to the next on the same core when the first yields: two threads
// increment a number in turn.
double yield_ns(int cpu) {
    constexpr int increments = 200;
    std::atomic<int> number{0};
    std::int64_t began = 0, ended = 0;
    const auto count = [&](int first) {
        run_on(cpu);
        for (int mine = first; mine < increments; mine += 2) {
            while (number.load(std::memory_order_acquire) != mine) sched_yield();
            if (mine == 1) began = now_ns();  // both run
            number.store(mine + 1, std::memory_order_release);
        }
        if (first == 1) ended = now_ns();  // the last increment
    };
    std::thread even(count, 0);
    std::thread odd(count, 1);
    even.join();
    odd.join();
    return static_cast<double>(ended - began) / (increments - 2);
}

// Measures the time from the futex call of a thread on one CPU until a thread that slept on the
// other runs.
double wake_ns(int from_cpu, int to_cpu) {
    constexpr int times = 5;
    constexpr std::int64_t time_to_fall_asleep_ns = 100'000, second_ns = 1'000'000'000;
    double least = 0;
    for (int i = 0; i < times; ++i) {
        std::uint64_t word = 0;
        std::atomic<bool> is_running{false};
        std::int64_t woken = 0, ran = 0;
        std::thread sleeper([&] {
            run_on(to_cpu);
            is_running.store(true, std::memory_order_release);
            while (seen(word) == 0) sleep_while(word, 0, second_ns);
            ran = now_ns();
        });
        std::thread waker([&] {
            run_on(from_cpu);
            while (!is_running.load(std::memory_order_acquire)) sched_yield();
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

}  // namespace

SignalLatencySampler::SignalLatencySampler(RankTeam& team) : team_(team) {
    for (int other = 1; other < team.size(); ++other)
        best_.signal_latencies.push_back({.a = Rank{0}, .b = Rank{other}});
    best_.staged = zero_rates(staged_pieces);
    best_.single_copy = zero_rates(single_copies);
}

void SignalLatencySampler::sample_all(CurveRound round) {
    for (SignalLatency& pair : best_.signal_latencies)
        for (int i = 0; i < times_of_pair; ++i) {
            keep_least(pair.one_way_ns, team_.from_first(one_way(pair.b.index)));
            keep_least(pair.exchange_ns, team_.from_first(exchange(pair.b.index)));
        }
    if (team_.size() > 1)
        for (std::size_t i = 0; i < std::size(staged_pieces); ++i)
            if (static_cast<std::size_t>(4 * staged_pieces[i]) <= team_.bytes())
                best_.staged.gbps[i] =
                    std::max(best_.staged.gbps[i], staged_rate(staged_pieces[i]));
    team_.on_first([&] {
        for (int i = 0; i < 20; ++i)
            for (const auto copy : {process_vm_readv, process_vm_writev})
                keep_least(best_.single_copy_ns, single_copy(copy, 64));
        for (std::size_t i = 0; i < std::size(single_copies); ++i) {
            const std::int64_t bytes = single_copies[i];
            if (bytes > short_pass_bytes && round == CurveRound::short_one) continue;
            if (static_cast<std::size_t>(2 * bytes) > team_.bytes()) continue;
            for (const auto copy : {process_vm_readv, process_vm_writev})
                if (const double took = single_copy(copy, bytes); took > 0)
                    best_.single_copy.gbps[i] =
                        std::max(best_.single_copy.gbps[i], static_cast<double>(bytes) / took);
        }
    });
}

void SignalLatencySampler::sample_one_core() {
    keep_least(best_.clock_ns, clock_read_ns(1000));
    const auto& cpus = team_.cpus();
    if (cpus.empty()) return;
    keep_least(best_.yield_ns, yield_ns(cpus[0]));
    keep_least(best_.wake_same_core_ns, wake_ns(cpus[0], cpus[0]));
    if (cpus.size() > 1) keep_least(best_.wake_ns, wake_ns(cpus[0], cpus[1]));
}

// Returns half of a round trip.
double SignalLatencySampler::one_way(int other) {
    const std::uint64_t base = ticks_;
    ticks_ += rounds_of_pair;
    team_.meet();
    RankTeam::Counter& first = team_.counter_of(0);
    RankTeam::Counter& second = team_.counter_of(other);
    const std::int64_t began = now_ns();
    for (std::uint64_t tick = base + 1; tick <= ticks_; ++tick) {
        if (team_.me() == 0) {
            first.number.store(tick, std::memory_order_release);
            team_.await(second, tick);
        } else if (team_.me() == other) {
            team_.await(first, tick);
            second.number.store(tick, std::memory_order_release);
        }
    }
    return static_cast<double>(now_ns() - began) / (2.0 * rounds_of_pair);
}

// Each increments its counter, then waits for the other's.
double SignalLatencySampler::exchange(int other) {
    const std::uint64_t base = ticks_;
    ticks_ += rounds_of_pair;
    team_.meet();
    const int me = team_.me();
    if (me != 0 && me != other) return 0;
    RankTeam::Counter& mine = team_.counter_of(me);
    RankTeam::Counter& theirs = team_.counter_of(me == 0 ? other : 0);
    const std::int64_t began = now_ns();
    for (std::uint64_t tick = base + 1; tick <= ticks_; ++tick) {
        mine.number.store(tick, std::memory_order_release);
        team_.await(theirs, tick);
    }
    return static_cast<double>(now_ns() - began) / rounds_of_pair;
}

// All members at once copy their own piece into shared memory, and the neighbour's piece out of it,
// through two slots in turn. Returns GB/s of one direction; the other's is the same.
double SignalLatencySampler::staged_rate(std::int64_t piece) {
    const auto bytes = static_cast<std::size_t>(piece);
    const auto pieces =
        static_cast<std::uint64_t>(std::max<std::int64_t>(staged_window / piece, 4));
    const std::uint64_t base = ticks_;
    ticks_ += pieces;
    const int next = (team_.me() + 1) % team_.size();
    const int before = (team_.me() + team_.size() - 1) % team_.size();
    std::byte* mine = team_.memory_of(team_.me());  // two shared pieces | source | result
    const std::byte* theirs = team_.memory_of(next);
    team_.meet();
    const std::int64_t began = now_ns();
    for (std::uint64_t tick = base + 1; tick <= ticks_; ++tick) {
        const std::size_t slot = tick % 2 * bytes;
        std::memcpy(mine + slot, mine + 2 * bytes, bytes);
        team_.counter_of(team_.me()).number.store(tick, std::memory_order_release);
        team_.await(team_.counter_of(next), tick);
        std::memcpy(mine + 3 * bytes, theirs + slot, bytes);
        // A member that publishes a piece has read the previous one, whose slot is filled next.
        team_.await(team_.counter_of(before), tick);
    }
    const double took = team_.largest(static_cast<double>(now_ns() - began));
    return static_cast<double>(pieces) * static_cast<double>(bytes) / took;
}

// Returns nanoseconds; 0 if the kernel refuses.
double SignalLatencySampler::single_copy(decltype(process_vm_readv)* copy,
                                         std::int64_t bytes) const {
    const auto size = static_cast<std::size_t>(bytes);
    const RankTeam::OwnView peer = team_.own_view_of(1 % team_.size());
    const iovec here{team_.memory_of(team_.me()), size};
    const iovec there{peer.memory + size, size};
    const std::int64_t began = now_ns();
    const bool done = copy(peer.process, &here, 1, &there, 1, 0) == bytes;
    return done ? static_cast<double>(now_ns() - began) : 0;
}

void SignalLatencySampler::write_to(Limits& limits) const {
    const auto without_gaps = [](Rates rates) {
        for (std::size_t i = rates.gbps.size(); i-- > 0;)
            if (rates.gbps[i] == 0) {
                rates.gbps.erase(rates.gbps.begin() + static_cast<std::ptrdiff_t>(i));
                rates.bytes.erase(rates.bytes.begin() + static_cast<std::ptrdiff_t>(i));
            }
        return rates;
    };
    limits.signal_latencies = best_.signal_latencies;
    limits.clock_ns = best_.clock_ns;
    limits.yield_ns = best_.yield_ns;
    limits.wake_ns = best_.wake_ns;
    limits.wake_same_core_ns = best_.wake_same_core_ns;
    limits.staged = without_gaps(best_.staged);
    limits.single_copy_ns = best_.single_copy_ns;
    limits.single_copy = without_gaps(best_.single_copy);
}

}  // namespace tutti
