// SPDX-License-Identifier: Apache-2.0
#include "results/line_fit.hpp"

#include <vector>

#include "base/median.hpp"

namespace tutti {

double theil_sen_slope(std::span<const double> x, std::span<const double> y) {
    std::vector<double> slopes;
    for (std::size_t i = 0; i < x.size(); ++i)
        for (std::size_t j = i + 1; j < x.size(); ++j)
            if (x[i] != x[j]) slopes.push_back((y[j] - y[i]) / (x[j] - x[i]));
    return slopes.empty() ? 0 : median(std::move(slopes));
}

}  // namespace tutti
