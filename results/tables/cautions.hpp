// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "results/records/record.hpp"

namespace tutti {

/// Returns warnings about these launches and their ends: hosts that were
/// busy with something else or in bad health, ranks that take turns on too few cores. Lines without
/// newlines.
std::vector<std::string> cautions(std::span<const Launch> launches, std::span<const End> ends = {});

/// The same as lines below a table.
std::string cautions_below(std::span<const Launch> launches, std::span<const End> ends);

}  // namespace tutti
