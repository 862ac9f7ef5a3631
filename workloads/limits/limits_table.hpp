// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "results/records/limits.hpp"

namespace tutti {

/// Formats the network between hosts: "network of 2 hosts: 0.119 GB/s, 61.2 us".
std::string in_a_line(const HostNetwork& network);

/// Formats the limits and the resulting minimum times of all_reduce. `notes` come first as comments
/// ("# ...").
std::string limits_table(const Limits& limits, std::span<const std::string> notes);

}  // namespace tutti
