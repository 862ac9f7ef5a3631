// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "autotune/table/table.hpp"

namespace tutti {

/// Returns the decision maps as text of at most 120 columns: for each section a row per range with
/// its evidence, then the ranges on an axis of sizes. Whole lines, newline included.
std::string explain(const Table& table);

/// Returns the input of scripts/draw.py: the same as rows of boxes on an axis of sizes.
std::string to_picture_json(const Table& table);

}  // namespace tutti
