// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/fingerprint.hpp"

#include <vector>

#include "base/index.hpp"

namespace tutti {
namespace {

// A hash of all added numbers and their order.
class Chain {
public:
    void add(std::uint64_t item) {
        // The finalizer of splitmix64 (Steele, Lea, Flood 2014): each bit of the sum affects all
        // bits.
        std::uint64_t mixed = value_ + item + 0x9e3779b97f4a7c15;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
        value_ = mixed ^ (mixed >> 31);
    }
    void add(int item) { add(static_cast<std::uint64_t>(item)); }
    std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_ = 0;
};

// Hashes of one rank's sends and receives.
struct Part {
    Chain sends, receives;
};

void add_to(Chain& chain, int step, int chunk, Rank peer, Action action) {
    chain.add(step);
    chain.add(chunk);
    chain.add(peer.index);
    chain.add(static_cast<int>(action));
}

}  // namespace

std::optional<std::uint64_t> fingerprint(const Schedule& schedule, long most_chunks) {
    std::vector<Part> parts(static_cast<std::size_t>(schedule.ranks()));
    const auto part_of = [&](Rank rank) -> Part& { return at(parts, rank); };
    int busy_steps = 0;
    long moved = 0;
    for (int step = 0; step < schedule.steps() && moved <= most_chunks; ++step) {
        const long before = moved;
        schedule.visit(step, [&](const Transfer& t) {
            moved += t.chunks.count;
            if (moved > most_chunks) return;
            for (int chunk = t.chunks.first; chunk < t.chunks.first + t.chunks.count; ++chunk) {
                add_to(part_of(t.from).sends, busy_steps, chunk, t.to, t.action);
                add_to(part_of(t.to).receives, busy_steps, chunk, t.from, t.action);
            }
        });
        if (moved > before) ++busy_steps;
    }
    if (moved > most_chunks) return std::nullopt;
    Chain all;
    all.add(schedule.chunks());
    for (const Part& part : parts) {
        all.add(part.sends.value());
        all.add(part.receives.value());
    }
    return all.value();
}

}  // namespace tutti
