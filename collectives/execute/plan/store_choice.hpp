// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/sets.hpp"

namespace tutti {

/// Chooses the fraction of a plan's results that bypasses the caches. The best fraction depends on
/// the cache sizes and on other users of caches and memory, so it changes within seconds on a
/// shared machine. Each rank decides by the measured times of its own passes with none, half or all
/// of the results. It tries another fraction in two calls of every `period`; the first of the two
/// does not count, because the other fraction has filled the caches. Ranks need not agree.
class StoreChoice {
public:
    /// Begins with all or none of the results; keeps that unless it `adapts`.
    explicit StoreChoice(Stores guess = Stores::cached, bool adapts = false)
        : adapts_(adapts), best_(guess == Stores::cached ? 0 : shares - 1), now_(best_) {}

    bool adapts() const { return adapts_; }
    /// Returns the fraction, from 0 to 1.
    double streaming_share() const { return static_cast<double>(now_) / (shares - 1); }

    /// Records the duration of one call's passes with the current streaming_share(). `bytes`: the
    /// size of the call, by total_bytes(). Calls have different lengths, so times for a MiB are
    /// compared.
    void record(std::int64_t ns, std::int64_t bytes) {
        if (++calls_since_change_ > 1)
            times_[now_].add(ns * (1 << 20) / std::max<std::int64_t>(bytes, 1));
        const bool is_trial = now_ != best_;
        if (calls_since_change_ < (is_trial ? 2 : calls_to_next_trial_)) return;
        if (!is_trial) {
            calls_to_next_trial_ = std::min(2 * calls_to_next_trial_, period);
            now_ = next_trial_ = (next_trial_ + 1) % shares == best_ ? (next_trial_ + 2) % shares
                                                                     : (next_trial_ + 1) % shares;
        } else if (times_[now_].typical() < times_[best_].typical()) {
            best_ = now_;  // continue with it
            return;
        } else {
            now_ = best_;
        }
        calls_since_change_ = 0;
    }

private:
    static constexpr std::size_t shares = 3;
    static constexpr int period = 64;

    // The last few times; their median is not affected by a single outlier.
    class Times {
    public:
        void add(std::int64_t ns) { last_[added_++ % last_.size()] = ns; }
        std::int64_t typical() const {
            const auto [a, b, c] = last_;
            if (added_ < last_.size())
                return *std::min_element(last_.begin(), last_.begin() + static_cast<long>(added_));
            return std::max(std::min(a, b), std::min(std::max(a, b), c));
        }

    private:
        std::array<std::int64_t, 3> last_{};
        std::size_t added_ = 0;
    };

    bool adapts_;
    std::size_t best_, now_;
    std::size_t next_trial_ = 0;
    int calls_since_change_ = 0;
    int calls_to_next_trial_ = 2;  // often at first, because first calls are not typical
    std::array<Times, shares> times_;
};

}  // namespace tutti
