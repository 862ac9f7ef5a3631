// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/sets.hpp"

namespace tutti {

/// Ordinary or streaming stores for the results of a plan? That hangs on who shares the caches and
/// the memory just now, which on a shared machine changes within seconds; so each rank goes by what
/// its own passes over memory took. Now and then it tries the other kind: in the end two calls in
/// `period`, of which the first still finds the caches as the other kind left them and does not
/// count.
/// Ranks need not agree.
class StoreChoice {
public:
    /// Begins with `guess`; stays with it unless it `adapts`.
    explicit StoreChoice(Stores guess = Stores::cached, bool adapts = false)
        : adapts_(adapts), best_(guess), now_(guess) {}

    bool adapts() const { return adapts_; }
    Stores now() const { return now_; }

    /// The passes of one call, with now(), took so long.
    void took(std::int64_t ns) {
        if (++calls_since_change_ > 1) times_of(now_).add(ns);
        const bool is_trial = now_ != best_;
        if (calls_since_change_ < (is_trial ? 2 : calls_to_next_trial_)) return;
        if (!is_trial) {
            calls_to_next_trial_ = std::min(2 * calls_to_next_trial_, period);
        } else if (times_of(now_).typical() < times_of(best_).typical()) {
            best_ = now_;  // and goes on with it
            return;
        }
        now_ = other(now_);
        calls_since_change_ = 0;
    }

private:
    static constexpr int period = 64;

    // The last few, of which the middle one is not disturbed by a single bad one.
    class Times {
    public:
        void add(std::int64_t ns) { last_[added_++ % last_.size()] = ns; }
        bool is_empty() const { return added_ == 0; }
        std::int64_t typical() const {
            if (added_ < last_.size())
                return *std::min_element(last_.begin(), last_.begin() + static_cast<long>(added_));
            const auto [a, b, c] = last_;
            return std::max(std::min(a, b), std::min(std::max(a, b), c));
        }

    private:
        std::array<std::int64_t, 3> last_{};
        std::size_t added_ = 0;
    };

    static constexpr Stores other(Stores kind) {
        return kind == Stores::cached ? Stores::streaming : Stores::cached;
    }
    Times& times_of(Stores kind) { return times_[kind == Stores::cached ? 0 : 1]; }

    bool adapts_;
    Stores best_, now_;
    int calls_since_change_ = 0;
    int calls_to_next_trial_ = 2;  // often at first, as first calls are unlike those that follow
    std::array<Times, 2> times_;
};

}  // namespace tutti
