// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>

#include "base/units.hpp"

namespace tutti {

/// Returns the number of doublings from one size to another; 0 bytes count as 1.
inline double octaves(Bytes from, Bytes to) {
    const auto position = [](Bytes size) {
        return std::log2(static_cast<double>(std::max<std::int64_t>(1, size.count)));
    };
    return position(to) - position(from);
}

/// Returns the geometric mean of two sizes, but above `below`: the border between the choices for
/// both.
inline Bytes halfway(Bytes below, Bytes above) {
    const double product = static_cast<double>(below.count) * static_cast<double>(above.count);
    return {std::max(below.count + 1, static_cast<std::int64_t>(std::ceil(std::sqrt(product))))};
}

}  // namespace tutti
