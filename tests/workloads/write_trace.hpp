// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "workloads/traces/trace.hpp"

namespace tutti {

/// As JSON Lines: a header, a line for each thing, and an end line by which what is cut off shows.
std::string to_json_lines(const Trace& trace);

}  // namespace tutti
