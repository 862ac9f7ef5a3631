// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "results/records/limits.hpp"

namespace tutti {

/// The network between hosts in one line: "network of 2 hosts: 0.119 GB/s, 61.2 us".
std::string in_a_line(const HostNetwork& network);

/// What was measured and the least times that follow for all_reduce, as lines for people. `notes`
/// come first, each as a comment ("# ...").
std::string limits_table(const Limits& limits, std::span<const std::string> notes);

}  // namespace tutti
