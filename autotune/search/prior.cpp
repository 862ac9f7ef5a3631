// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/prior.hpp"

#include <algorithm>
#include <cmath>

#include "autotune/choice/scale.hpp"

namespace tutti {

void Prior::learn(const SampleLog& book, std::size_t size) {
    std::vector<double> residuals;
    for (const int arm : book.raced(size)) {
        const std::optional<double> predicted = track_.predicted_ns(arm, sizes_[size]);
        if (predicted && *predicted > 0)
            residuals.push_back(*book.level(size, arm) - std::log(*predicted));
    }
    if (residuals.empty()) return;
    std::vector<double> sorted = residuals;
    std::sort(sorted.begin(), sorted.end());
    const double shift = sorted[sorted.size() / 2];
    shifts_[size] = shift;
    for (const double residual : residuals) errors_.push_back(std::abs(residual - shift));
}

std::optional<double> Prior::level(int arm, std::size_t size) const {
    const std::optional<double> predicted = track_.predicted_ns(arm, sizes_[size]);
    if (!predicted || *predicted <= 0) return std::nullopt;
    if (shifts_.empty()) return std::log(*predicted);
    const auto above = shifts_.lower_bound(size);
    if (above == shifts_.end()) return std::log(*predicted) + std::prev(above)->second;
    if (above == shifts_.begin()) return std::log(*predicted) + above->second;
    const auto below = std::prev(above);
    const double share = octaves(sizes_[below->first], sizes_[size]) /
                         octaves(sizes_[below->first], sizes_[above->first]);
    return std::log(*predicted) + below->second + share * (above->second - below->second);
}

std::optional<double> Prior::error() const {
    if (errors_.size() < 4) return std::nullopt;
    double squares = 0;
    for (const double error : errors_) squares += error * error;
    return std::sqrt(squares / static_cast<double>(errors_.size()));
}

bool Prior::is_between(std::size_t size) const {
    return !shifts_.empty() && shifts_.begin()->first <= size && size <= shifts_.rbegin()->first;
}

}  // namespace tutti
