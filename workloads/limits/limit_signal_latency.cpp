// SPDX-License-Identifier: Apache-2.0
#include "workloads/limits/limit_signal_latency.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"

namespace tutti {
namespace {

constexpr int rounds_of_pair = 50;
constexpr int times_of_pair = 8;
constexpr std::int64_t staged_pieces[] = {4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20};
constexpr std::int64_t staged_window = 1 << 20;
constexpr std::int64_t single_copies[] = {4 << 10, 64 << 10, 1 << 20, 16 << 20};

template <std::size_t size>
Rates nothing_yet(const std::int64_t (&sizes)[size]) {
    Rates rates;
    for (const std::int64_t bytes : sizes) rates.bytes.push_back({bytes});
    rates.gbps.resize(size);
    return rates;
}

double clock_read_ns() {
    constexpr int reads = 1000;
    const std::int64_t began = now_ns();
    for (int i = 1; i < reads; ++i) now_ns();
    return static_cast<double>(now_ns() - began) / reads;
}

}  // namespace

SignalLatencySampler::SignalLatencySampler(RankTeam& crew) : crew_(crew) {
    for (int other = 1; other < crew.size(); ++other)
        best_.hand_overs.push_back({.a = Rank{0}, .b = Rank{other}});
    best_.staged = nothing_yet(staged_pieces);
    best_.single_copy = nothing_yet(single_copies);
}

void SignalLatencySampler::sample_all(Round round) {
    for (SignalLatency& pair : best_.hand_overs)
        for (int i = 0; i < times_of_pair; ++i) {
            keep_least(pair.one_way_ns, crew_.from_rank0(one_way(pair.b.index)));
            keep_least(pair.exchange_ns, crew_.from_rank0(exchange(pair.b.index)));
        }
    if (crew_.size() > 1)
        for (std::size_t i = 0; i < std::size(staged_pieces); ++i)
            if (static_cast<std::size_t>(4 * staged_pieces[i]) <= crew_.bytes())
                best_.staged.gbps[i] =
                    std::max(best_.staged.gbps[i], staged_rate(staged_pieces[i]));
    crew_.alone([&] {
        for (int i = 0; i < 20; ++i) keep_least(best_.single_copy_ns, single_copy(64));
        for (std::size_t i = 0; i < std::size(single_copies); ++i) {
            const std::int64_t bytes = single_copies[i];
            if (bytes > short_pass_bytes && round == Round::short_one) continue;
            if (static_cast<std::size_t>(2 * bytes) > crew_.bytes()) continue;
            if (const double took = single_copy(bytes); took > 0)
                best_.single_copy.gbps[i] =
                    std::max(best_.single_copy.gbps[i], static_cast<double>(bytes) / took);
        }
    });
}

void SignalLatencySampler::sample_alone() {
    keep_least(best_.clock_ns, clock_read_ns());
    const auto& cpus = crew_.cpus();
    if (cpus.empty()) return;
    keep_least(best_.yield_ns, yield_ns(cpus[0]));
    keep_least(best_.wake_same_core_ns, wake_ns(cpus[0], cpus[0]));
    if (cpus.size() > 1) keep_least(best_.wake_ns, wake_ns(cpus[0], cpus[1]));
}

// There and back, again and again: half of it is one way.
double SignalLatencySampler::one_way(int other) {
    const std::uint64_t base = ticks_;
    ticks_ += rounds_of_pair;
    crew_.meet();
    RankTeam::Line& first = crew_.line_of(0);
    RankTeam::Line& second = crew_.line_of(other);
    const std::int64_t began = now_ns();
    for (std::uint64_t tick = base + 1; tick <= ticks_; ++tick) {
        if (crew_.me() == 0) {
            first.number.store(tick, std::memory_order_release);
            crew_.await(second, tick);
        } else if (crew_.me() == other) {
            crew_.await(first, tick);
            second.number.store(tick, std::memory_order_release);
        }
    }
    return static_cast<double>(now_ns() - began) / (2.0 * rounds_of_pair);
}

// Each shows its line, then waits for the other's.
double SignalLatencySampler::exchange(int other) {
    const std::uint64_t base = ticks_;
    ticks_ += rounds_of_pair;
    crew_.meet();
    const int me = crew_.me();
    if (me != 0 && me != other) return 0;
    RankTeam::Line& mine = crew_.line_of(me);
    RankTeam::Line& theirs = crew_.line_of(me == 0 ? other : 0);
    const std::int64_t began = now_ns();
    for (std::uint64_t tick = base + 1; tick <= ticks_; ++tick) {
        mine.number.store(tick, std::memory_order_release);
        crew_.await(theirs, tick);
    }
    return static_cast<double>(now_ns() - began) / rounds_of_pair;
}

// All members at once copy a piece of their own into shared memory, and the neighbour's piece out
// of it, two pieces in turn: the rate of one way, that of the other being the same.
double SignalLatencySampler::staged_rate(std::int64_t piece) {
    const auto bytes = static_cast<std::size_t>(piece);
    const auto pieces =
        static_cast<std::uint64_t>(std::max<std::int64_t>(staged_window / piece, 4));
    const std::uint64_t base = ticks_;
    ticks_ += pieces;
    const int next = (crew_.me() + 1) % crew_.size();
    const int before = (crew_.me() + crew_.size() - 1) % crew_.size();
    std::byte* mine = crew_.memory_of(crew_.me());  // two shared pieces | source | result
    const std::byte* theirs = crew_.memory_of(next);
    crew_.meet();
    const std::int64_t began = now_ns();
    for (std::uint64_t tick = base + 1; tick <= ticks_; ++tick) {
        const std::size_t slot = tick % 2 * bytes;
        std::memcpy(mine + slot, mine + 2 * bytes, bytes);
        crew_.line_of(crew_.me()).number.store(tick, std::memory_order_release);
        crew_.await(crew_.line_of(next), tick);
        std::memcpy(mine + 3 * bytes, theirs + slot, bytes);
        // Whoever shows a piece has read the one before, whose place is the next to be filled.
        crew_.await(crew_.line_of(before), tick);
    }
    const double took = crew_.largest(static_cast<double>(now_ns() - began));
    return static_cast<double>(pieces) * static_cast<double>(bytes) / took;
}

// Nanoseconds; 0 where the kernel refuses.
double SignalLatencySampler::single_copy(std::int64_t bytes) const {
    const auto size = static_cast<std::size_t>(bytes);
    const RankTeam::Home& peer = crew_.home_of(1 % crew_.size());
    const iovec to{crew_.memory_of(crew_.me()), size};
    const iovec from{peer.memory + size, size};
    const std::int64_t began = now_ns();
    const bool done = process_vm_readv(peer.process, &to, 1, &from, 1, 0) == bytes;
    return done ? static_cast<double>(now_ns() - began) : 0;
}

void SignalLatencySampler::tell(Limits& limits) const {
    const auto without_gaps = [](Rates rates) {
        for (std::size_t i = rates.gbps.size(); i-- > 0;)
            if (rates.gbps[i] == 0) {
                rates.gbps.erase(rates.gbps.begin() + static_cast<std::ptrdiff_t>(i));
                rates.bytes.erase(rates.bytes.begin() + static_cast<std::ptrdiff_t>(i));
            }
        return rates;
    };
    limits.hand_overs = best_.hand_overs;
    limits.clock_ns = best_.clock_ns;
    limits.yield_ns = best_.yield_ns;
    limits.wake_ns = best_.wake_ns;
    limits.wake_same_core_ns = best_.wake_same_core_ns;
    limits.staged = without_gaps(best_.staged);
    limits.single_copy_ns = best_.single_copy_ns;
    limits.single_copy = without_gaps(best_.single_copy);
}

}  // namespace tutti
