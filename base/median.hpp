// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <vector>

namespace tutti {

/// The middle of the values in order of size, of two in the middle their mean. Of at least one.
inline double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace tutti
