// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "workloads/traces/trace.hpp"

namespace tutti {

/// Writes JSON Lines: a header, a line for each thing, and an end line, whose absence shows
/// truncation.
std::string to_json_lines(const Trace& trace);

}  // namespace tutti
