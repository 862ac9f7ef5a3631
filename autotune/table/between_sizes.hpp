// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "autotune/table/estimate.hpp"
#include "autotune/table/table.hpp"

namespace tutti {

/// The largest size that a model is asked for; beyond it the last choice goes on.
inline constexpr Bytes largest_asked{std::int64_t{1} << 36};

/// The section with a new choice for sizes that are further than a factor of 2 from any measured
/// one: between two that chose differently one of their choices, beyond the last and below the
/// first (but not below a cache line) the choice there or its runner-up, each as the model says.
/// Such ranges are marked as interpolated. A section that nothing was measured for stays as it is.
Section decided_between_sizes(const Section& section, const Predictor& predict);

/// Ranges that follow each other with the same choice and origin, as one with all their evidence;
/// estimates are kept where the range begins only.
std::vector<Range> joined(std::vector<Range> ranges);

}  // namespace tutti
