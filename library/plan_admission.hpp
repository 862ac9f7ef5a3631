// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/clock.hpp"

#pragma GCC visibility push(hidden)
namespace tutti {

/// Decides which calls get a plan. Making a plan costs every rank the time of tens to thousands of
/// calls, which does not pay for a length that rarely repeats.
///
/// A call is admitted after 3 to 32 calls in quick succession, while planning has taken at most
/// 100 ms plus 1 % of the elapsed time. It is also admitted after 64 calls in all, within the 1 %
/// alone. All ranks decide alike: they see the same calls and agree on the times.
class PlanAdmission {
public:
    static constexpr std::int64_t ns_of_plan = 500'000;  ///< estimated

    struct Times {
        std::int64_t elapsed_ns;  ///< since the start
        std::int64_t spent_ns;    ///< on making plans
    };
    /// Times that admit no call.
    static constexpr Times never{0, std::numeric_limits<std::int64_t>::max()};

    /// Counts a call and returns whether it has a plan or gets one now. `key` identifies calls
    /// that are admitted together; `bytes` is the size of the call. Both must be equal on all
    /// ranks. `spent_ns`: time that this rank has spent on plans. `next_ns`: estimated time of the
    /// next plan. `agree` maps this rank's Times to the least elapsed and the most spent time of
    /// all ranks. It is collective, and is called only when a call may be admitted.
    template <class Agree>
    bool admits(std::uint64_t key, std::int64_t bytes, std::int64_t spent_ns, std::int64_t next_ns,
                const Agree& agree) {
        if (is_admitted(key)) return true;
        ++now_;
        Entry& entry = entry_of(key);
        const std::uint32_t gap = now_ - entry.last;
        entry.last = now_;
        entry.score =
            static_cast<std::uint16_t>(std::min(most_score, left_of(entry, gap) + reward));
        entry.calls = std::min<std::uint16_t>(entry.calls + 1, many_calls);
        const std::optional<std::int64_t> credit_ns = credit_of(entry, bytes);
        if (!credit_ns) return false;
        const Times times = agree(Times{now_ns() - began_ns_, spent_ns + next_ns});
        if (times.spent_ns <= *credit_ns + times.elapsed_ns / share) return admit(entry);
        refuse(entry);
        return false;
    }

    /// Returns whether a call has a plan, and counts it if so. This is the fast path.
    bool is_admitted(std::uint64_t key) {
        if (!has_plan(key)) return false;
        likely_entry_of(key).last = ++now_;
        return true;
    }
    /// The same without counting it.
    bool has_plan(std::uint64_t key) {
        if (entries_.empty()) return false;
        const Entry& likely = likely_entry_of(key);
        return likely.tag == tag_of(key) && likely.is_admitted;
    }

    /// Forgets all admissions: plans have been evicted, so calls must be admitted again.
    void forget() {
        for (Entry& entry : entries_) {
            entry.is_admitted = false;
            entry.score = 0;
        }
    }

private:
    // 16 bytes, so that the table stays in a core's cache.
    struct Entry {
        std::uint32_t tag = 0;    // part of the key; 0: no key
        std::uint32_t last = 0;   // number of the latest call
        std::uint16_t score = 0;  // += `reward` for each call, -1 for each other call
        std::uint16_t calls = 0;
        std::uint8_t refusals = 0;
        bool is_admitted = false;
    };
    static constexpr std::uint32_t reward = 64, kept_reward = 48, most_score = reward * 256;
    static constexpr std::uint16_t many_calls = 64;
    static constexpr std::int64_t share = 100;
    static constexpr std::size_t sets = 512;  // a power of two, see entry_of()

    static std::uint32_t left_of(const Entry& entry, std::uint32_t gap) {
        return entry.score - std::min<std::uint32_t>(entry.score, gap);
    }

    static std::uint64_t mixed(std::uint64_t key) { return key * 0x9E3779B97F4A7C15U; }
    static std::uint32_t tag_of(std::uint64_t key) {
        return static_cast<std::uint32_t>(mixed(key) >> 16) | 1U;  // 0 marks an empty entry
    }
    // Each key has two possible entries.
    Entry* pair_of(std::uint64_t key) { return &entries_[2 * (mixed(key) >> (64 - 9))]; }
    Entry& likely_entry_of(std::uint64_t key) {
        Entry* const pair = pair_of(key);
        return pair[pair[1].tag == tag_of(key) ? 1 : 0];
    }

    // A new key replaces the one used less often or less recently.
    Entry& entry_of(std::uint64_t key) {
        if (entries_.empty()) entries_.resize(2 * sets);
        Entry& likely = likely_entry_of(key);
        if (likely.tag == tag_of(key)) return likely;
        Entry* const pair = pair_of(key);
        const auto left = [&](const Entry& one) { return left_of(one, now_ - one.last); };
        Entry& taken = left(pair[0]) <= left(pair[1]) ? pair[0] : pair[1];
        return taken = {.tag = tag_of(key), .last = now_};
    }

    // From now on, only the latest call of the entry counts.
    static bool admit(Entry& entry) {
        entry.score = most_score;
        return entry.is_admitted = true;
    }

    // Planning time allowed beyond 1 % of the run time; nullopt if this call gets no plan now.
    std::optional<std::int64_t> credit_of(const Entry& entry, std::int64_t bytes) {
        if (is_repeated(entry, bytes)) return 100'000'000;
        if (entry.calls >= many_calls && now_ - refused_at_ >= calls_between_) return 0;
        return std::nullopt;
    }

    // Requires about 25 us worth of calls in quick succession, at least 3 and at most 32. Avoids a
    // division, as this runs at every call.
    static bool is_repeated(const Entry& entry, std::int64_t bytes) {
        constexpr std::int64_t ns_of_call = 1000, bytes_of_ns = 5, patience_ns = 25'000;
        const std::int64_t score = entry.score >> entry.refusals;
        const std::int64_t ns = score * (ns_of_call + bytes / bytes_of_ns);
        return score >= 3 * kept_reward &&
               (score >= 32 * kept_reward || entry.score == most_score ||
                ns >= patience_ns * kept_reward);
    }

    // agree() costs about as much as a call, so each refusal makes it rarer.
    void refuse(Entry& entry) {
        entry.refusals = std::min<std::uint8_t>(entry.refusals + 1, 7);
        entry.score = 0;
        refused_at_ = now_;
        calls_between_ = std::min<std::uint32_t>(2 * calls_between_ + 1024, 1U << 16);
    }

    std::uint32_t now_ = 0;  // number of the call
    std::uint32_t refused_at_ = 0, calls_between_ = 0;
    std::vector<Entry> entries_;
    std::int64_t began_ns_ = now_ns();
};

}  // namespace tutti
#pragma GCC visibility pop
