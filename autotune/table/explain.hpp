// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "autotune/table/table.hpp"

namespace tutti {

/// The decision maps as text of at most 120 columns: for each section a row per range with its
/// evidence, and below it the ranges on an axis of sizes. Whole lines, newline included.
std::string explain(const Table& table);

/// The same as one SVG page: a row per section, boxes for its ranges; a colour is an algorithm, its
/// shade says where the choice comes from.
std::string draw(const Table& table);

}  // namespace tutti
