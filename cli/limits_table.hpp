// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "results/limits.hpp"

namespace tutti {

/// What was measured and the least times that follow for all_reduce, as lines for people. `notes`
/// come first, each as a comment ("# ...").
std::string limits_table(const Limits& limits, std::span<const std::string> notes);

}  // namespace tutti
