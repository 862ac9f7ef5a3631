// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "collectives/schedule/schedule.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// Prints a schedule with one line per transfer under its step: "  rank 0 -> rank 1  chunk 3
/// (reduce)".
std::string in_words(const Schedule& schedule);

/// Draws a schedule as self-contained SVG: ranks from left to right, steps downwards, one arrow per
/// transfer, labelled with its chunks; reductions are red, copies blue.
std::string as_svg(const Schedule& schedule, const std::string& title);

}  // namespace tutti
#pragma GCC visibility pop
