// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "cli/options/bench_options.hpp"

namespace tutti {

/// How the table of `tutti bench` is to be read.
std::vector<std::string> reading_notes(const BenchOptions& options, const World& world);

}  // namespace tutti
