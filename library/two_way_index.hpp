// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace tutti {

/// The index of a two-way set-associative cache of 2^(bits + 1) entries: two calls that alternate
/// do not evict each other. Evicts the one that came first, so the places depend only on the order
/// of insertions, not on look-ups. The cache must compare its entry with what it looks for, as
/// different calls may have the same hash.
template <int bits>
class TwoWayIndex {
public:
    static constexpr std::size_t places = std::size_t{2} << bits;

    /// Returns the place of the hash if it has one, else another.
    std::size_t likely(std::uint64_t hash) const {
        const std::size_t first = first_of(hash);
        return first + (hashes_[first] == hash ? 0 : 1);
    }
    bool has(std::uint64_t hash) const { return hashes_[likely(hash)] == hash; }
    /// Returns the place of the hash. If it has none, it gets the place of the older one in its
    /// set.
    std::size_t take(std::uint64_t hash) {
        if (has(hash)) return likely(hash);
        const std::size_t first = first_of(hash);
        std::uint8_t& older = older_[first / 2];
        const std::size_t place = first + older;
        older = older == 0 ? 1 : 0;
        hashes_[place] = hash;
        return place;
    }
    /// Takes a place for the hash. Returns whether it had one.
    bool note(std::uint64_t hash) {
        const bool is_noted = has(hash);
        take(hash);
        return is_noted;
    }

private:
    static std::size_t first_of(std::uint64_t hash) { return 2 * (hash >> (64 - bits)); }

    std::array<std::uint64_t, places> hashes_ = {};
    std::array<std::uint8_t, places / 2> older_ = {};  // in each set
};

/// Predicts the place of the next look-up in such a cache: the place that followed the current one
/// last time. Programs repeat sequences of calls. A correct prediction saves the hash, and its load
/// does not depend on the call's arguments.
template <std::size_t places>
class NextPlace {
public:
    /// Returns whether the last four predictions, or more, were right. Otherwise, checking one
    /// costs more than it saves.
    bool is_confident() const { return right_ >= 4; }
    std::size_t predicted() const { return following_[last_]; }
    /// Notes the place that was found, predicted or not.
    void note(std::size_t place) {
        if (following_[last_] == place) {
            ++right_;
        } else {
            following_[last_] = static_cast<std::uint16_t>(place);
            right_ = 0;
        }
        last_ = place;
    }

private:
    static_assert(places <= 1 << 16);
    std::array<std::uint16_t, places> following_ = {};
    std::size_t last_ = 0;
    std::uint64_t right_ = 0;  // number of right predictions since the last wrong one
};

}  // namespace tutti
