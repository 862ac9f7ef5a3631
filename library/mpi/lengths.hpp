// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace tutti {

/// Greatest size of a call of tutti, because MPI_Pack counts in int.
inline constexpr std::size_t most_bytes = std::size_t{1} << 30;

/// Returns whether tutti does calls whose longest block has this size; else the MPI library does.
inline bool is_for_tutti(std::int64_t longest, int ranks) {
    return longest > 0 && longest <= static_cast<std::int64_t>(most_bytes) / ranks;
}

/// Returns whether an exchange of the lengths pays. It does not if the MPI library sends eagerly.
inline bool pays_with_exchange(std::int64_t longest) { return longest >= std::int64_t{4} << 10; }

/// Stands for the length of a block whose arguments the MPI library must check.
inline constexpr std::int64_t invalid_length = -1;

}  // namespace tutti
