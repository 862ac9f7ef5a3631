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

}  // namespace tutti
