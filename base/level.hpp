// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>

#include "base/name_table.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// Parts of machines in which ranks share something fast, from the smallest to the largest: the
/// last-level cache, the memory of a NUMA node, a processor package, a host, a network switch, a
/// rack. The only list of them.
enum class Level : std::uint8_t { cache, numa, package, host, network_switch, rack };

template <>
struct NamesOf<Level> {
    static constexpr const char* kind = "level";
    static constexpr Named<Level> rows[] = {
        {Level::cache, "cache"},           {Level::numa, "numa"},
        {Level::package, "package"},       {Level::host, "host"},
        {Level::network_switch, "switch"}, {Level::rack, "rack"},
    };
};

/// All levels, the smallest first.
inline constexpr std::array all_levels{Level::cache, Level::numa,           Level::package,
                                       Level::host,  Level::network_switch, Level::rack};

}  // namespace tutti
#pragma GCC visibility pop
