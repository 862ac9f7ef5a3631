// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "collectives/world/world.hpp"

#pragma GCC visibility push(hidden)
namespace tutti {

/// Decides which calls get a plan of their own. Making one takes all ranks as long as tens to
/// thousands of calls, which does not pay for a length that hardly comes again.
///
/// A call gets one when it has come `needed_calls()` times in quick succession, or 64 times in all,
/// and while making plans has taken at most 30 ms and 1 % of the time since the start. All ranks
/// decide alike: they see the same sequence of calls, and agree about the time.
class PlanAdmission {
public:
    /// The first `free_plans` different calls get a plan when they first come.
    explicit PlanAdmission(int free_plans);

    /// Counts a call. Returns whether it has a plan or gets one now. `key` stands for all that the
    /// plan depends on, `bytes` are those of all ranks; both are equal on all ranks. `spent_ns` is
    /// what making plans has taken so far on this rank. Collective; without a world (null) plans
    /// have taken no time yet.
    bool admits(World* world, std::uint64_t key, std::int64_t bytes, std::int64_t spent_ns) {
        ++now_;
        Entry& entry = entry_of(key);
        const std::uint32_t gap = now_ - entry.last;
        entry.last = now_;
        entry.score =
            static_cast<std::uint16_t>(std::min(most_score, left_of(entry, gap) + reward));
        ++entry.calls;
        if (entry.is_admitted) return true;
        return may_be_due(entry, bytes) && is_due(world, entry, spent_ns);
    }

    /// How many calls in quick succession show that more of them will come: as many as take about
    /// 60 us, and at most 32.
    static std::uint32_t needed_calls(std::int64_t bytes) {
        constexpr std::int64_t ns_of_call = 1000, bytes_of_ns = 5, patience_ns = 60'000;
        const std::int64_t calls = patience_ns / (ns_of_call + bytes / bytes_of_ns);
        return static_cast<std::uint32_t>(std::clamp<std::int64_t>(calls, 2, 32));
    }

private:
    // 16 bytes, so that the table stays in a core's cache.
    struct Entry {
        std::uint32_t tag = 0;    // of the key
        std::uint32_t last = 0;   // number of the latest call
        std::uint16_t score = 0;  // grows by `reward` a call, falls by 1 for each call of others
        std::uint16_t calls = 0;
        std::uint8_t refusals = 0;
        bool is_admitted = false;
    };
    static constexpr std::uint32_t reward = 64, kept_reward = 48, most_score = reward * 256;
    static constexpr std::uint32_t many_calls = 64;
    static constexpr std::size_t sets = 512;  // a power of two, see entry_of()

    static std::uint32_t left_of(const Entry& entry, std::uint32_t gap) {
        return entry.score - std::min<std::uint32_t>(entry.score, gap);
    }

    // A key has one of two places, and takes the one whose key came less often or long ago.
    Entry& entry_of(std::uint64_t key) {
        if (entries_.empty()) entries_.resize(2 * sets);
        const std::uint64_t mixed = key * 0x9E3779B97F4A7C15U;
        const auto tag = static_cast<std::uint32_t>(mixed >> 16) | 1U;  // 0 is of no key
        Entry* const pair = &entries_[2 * (mixed >> (64 - 9))];
        for (Entry* one : {pair, pair + 1})
            if (one->tag == tag) return *one;
        const auto left = [&](const Entry& one) { return left_of(one, now_ - one.last); };
        Entry& taken = left(pair[0]) <= left(pair[1]) ? pair[0] : pair[1];
        return taken = {.tag = tag, .last = now_};
    }

    bool may_be_due(const Entry& entry, std::int64_t bytes) const {
        if (free_plans_ > 0) return true;
        const std::uint32_t times = std::uint32_t{1} << std::min<std::uint8_t>(entry.refusals, 8);
        const std::uint32_t needed =
            std::min(most_score, needed_calls(bytes) * kept_reward * times);
        return entry.score >= needed ||
               (entry.calls >= many_calls && entry.calls % (many_calls * times) == 0);
    }

    bool is_due(World* world, Entry& entry, std::int64_t spent_ns) {
        if (free_plans_ > 0)
            --free_plans_;
        else if (world != nullptr && !can_afford(*world, spent_ns)) {
            ++entry.refusals;
            entry.score = 0;
            return false;
        }
        entry.is_admitted = true;
        return true;
    }

    bool can_afford(World& world, std::int64_t spent_ns) const;

    int free_plans_;
    std::uint32_t now_ = 0;
    std::vector<Entry> entries_;
    std::int64_t began_ns_;
};

}  // namespace tutti
#pragma GCC visibility pop
