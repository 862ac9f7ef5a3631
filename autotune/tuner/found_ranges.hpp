// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "autotune/search/search.hpp"
#include "autotune/table/table.hpp"

namespace tutti {

/// What a search found as ranges of a table, with the evidence at each size; neighbours share a
/// choice that costs less than `hysteresis`.
std::vector<Range> ranges_found(std::span<const Finding> findings,
                                const std::function<const Configuration&(int arm)>& configuration,
                                double hysteresis);

}  // namespace tutti
