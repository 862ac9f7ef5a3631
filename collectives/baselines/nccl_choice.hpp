// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/name_table.hpp"

namespace tutti {

/// NCCL's algorithms and protocols by its own numbers, which have been the same since NCCL 2.22
/// (PAT: 2.23).
inline constexpr Named<std::int8_t> nccl_algorithms[] = {
    {0, "tree"},      {1, "ring"}, {2, "collnet-direct"}, {3, "collnet-chain"}, {4, "nvls"},
    {5, "nvls-tree"}, {6, "pat"},
};
inline constexpr Named<std::int8_t> nccl_protocols[] = {{0, "ll"}, {1, "ll128"}, {2, "simple"}};

/// An algorithm of NCCL, and its protocol and number of channels unless NCCL chooses them.
struct NcclChoice {
    static constexpr std::int8_t by_nccl = -1;
    static constexpr int most_channels = 64;

    std::int8_t algorithm = by_nccl;
    std::int8_t protocol = by_nccl;
    std::int16_t channels = 0;  ///< 0: NCCL's number

    bool is_default() const { return algorithm == by_nccl; }
    bool operator==(const NcclChoice&) const = default;
};

/// Returns whether NCCL limits the number of channels to those of the communicator. Where it does
/// not, a number that is too large makes NCCL use channels that do not exist.
bool limits_channels(const NcclChoice& choice, int hosts);

/// Reads ALGORITHM[-PROTOCOL][-CHANNELS], such as "ring", "tree-ll128" or "nvls-tree-simple-16".
/// Throws Error with the names.
NcclChoice parse_nccl_choice(std::string_view text);

/// Returns the text that parse_nccl_choice reads, or "default".
std::string to_string(const NcclChoice& choice);

}  // namespace tutti
