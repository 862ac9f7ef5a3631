// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>

#include "base/units.hpp"

namespace tutti {

/// How many doublings lead from one size to another; 0 bytes count as 1.
inline double octaves(Bytes from, Bytes to) {
    const auto position = [](Bytes size) {
        return std::log2(static_cast<double>(std::max<std::int64_t>(1, size.count)));
    };
    return position(to) - position(from);
}

}  // namespace tutti
