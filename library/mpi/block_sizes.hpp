// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace tutti {

/// How many bytes the smallest and the largest block of a call have.
struct BlockSizes {
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;

    void add(std::int64_t bytes) {
        least = std::min(least, bytes);
        most = std::max(most, bytes);
    }
    BlockSizes with(const BlockSizes& other) const {
        return {std::min(least, other.least), std::max(most, other.most)};
    }
    bool are_equal() const { return least == most; }
    /// For a rank that does not know the sizes: never changes the agreed minimum or maximum.
    static BlockSizes unknown() { return {std::numeric_limits<std::int64_t>::max(), 0}; }
    /// Of arguments that the library is to look at.
    static BlockSizes for_the_library() { return {0, std::numeric_limits<std::int64_t>::max()}; }
    bool is_for_tutti() const { return most < std::numeric_limits<std::int64_t>::max(); }
};

/// Larger calls are the library's: what is packed is counted in int.
inline constexpr std::size_t most_bytes = std::size_t{1} << 30;

/// Where blocks differ, all travel in slots of one size, which pays as long as what a call costs is
/// more than what its bytes do: so many of all ranks.
inline constexpr std::uint64_t most_padded = std::uint64_t{64} << 10;

/// The bytes of a slot for any of the blocks; nothing where the library moves them. Slots of few
/// sizes, as each size has a plan of its own.
inline std::optional<std::size_t> slot_for(const BlockSizes& blocks, int ranks) {
    if (!blocks.is_for_tutti() || blocks.most == 0) return std::nullopt;
    const auto most = static_cast<std::uint64_t>(blocks.most);
    if (blocks.are_equal()) {
        if (most > most_bytes / static_cast<std::size_t>(ranks)) return std::nullopt;
        return most;
    }
    const std::uint64_t slot = most > most_padded ? most : std::bit_ceil(most);
    if (slot * static_cast<std::uint64_t>(ranks) > most_padded) return std::nullopt;
    return slot;
}

/// Whether it pays to agree on the sizes of such blocks: not if the library sends them, or most of
/// them, without asking the receiver.
inline bool pays_once_agreed(const BlockSizes& blocks) {
    constexpr std::int64_t most_eager = std::int64_t{4} << 10;
    return blocks.are_equal() ? blocks.most >= most_eager : blocks.most > most_eager;
}

}  // namespace tutti
