// SPDX-License-Identifier: Apache-2.0
#include "results/line_fit.hpp"

#include <algorithm>

namespace tutti {

double median(std::vector<double> values) {
    std::ranges::sort(values);
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double theil_sen_slope(std::span<const double> x, std::span<const double> y) {
    std::vector<double> slopes;
    for (std::size_t i = 0; i < x.size(); ++i)
        for (std::size_t j = i + 1; j < x.size(); ++j)
            if (x[i] != x[j]) slopes.push_back((y[j] - y[i]) / (x[j] - x[i]));
    return slopes.empty() ? 0 : median(std::move(slopes));
}

}  // namespace tutti
