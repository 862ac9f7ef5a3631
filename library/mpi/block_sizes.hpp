// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace tutti {

/// Sizes of the smallest and the largest block of a call, in bytes.
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
    /// For a rank that does not know the sizes: does not change the agreed minimum and maximum.
    static BlockSizes unknown() { return {std::numeric_limits<std::int64_t>::max(), 0}; }
    /// For arguments that the MPI library must check.
    static BlockSizes for_the_library() { return {0, std::numeric_limits<std::int64_t>::max()}; }
    bool is_for_tutti() const { return most < std::numeric_limits<std::int64_t>::max(); }
};

/// Greatest size of a call of tutti, because MPI_Pack counts in int.
inline constexpr std::size_t most_bytes = std::size_t{1} << 30;

/// Greatest size of all slots together if the blocks differ. Beyond it, sending padded slots costs
/// more than it saves.
inline constexpr std::uint64_t most_padded = std::uint64_t{64} << 10;

/// Returns the size of a slot for any of the blocks, in bytes; nullopt if the MPI library must do
/// the call. There are few sizes, because each size has its own plan.
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

/// Returns whether agreeing on the sizes pays. It does not if the MPI library sends most blocks
/// eagerly.
inline bool pays_once_agreed(const BlockSizes& blocks) {
    constexpr std::int64_t most_eager = std::int64_t{4} << 10;
    return blocks.are_equal() ? blocks.most >= most_eager : blocks.most > most_eager;
}

}  // namespace tutti
