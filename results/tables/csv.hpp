// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <iosfwd>
#include <span>

#include "results/records/point.hpp"

namespace tutti {

/// A header row and one row per point, quoted as RFC 4180 says (rows end in CR LF). Times in ns;
/// cells of a skipped point stay empty.
void write_csv(std::ostream& out, std::span<const Point> points);

}  // namespace tutti
