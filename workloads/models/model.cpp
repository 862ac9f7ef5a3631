// SPDX-License-Identifier: Apache-2.0
#include "workloads/models/model.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace tutti {

std::int64_t Parameter::count() const {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t Model::count() const {
    std::int64_t sum = 0;
    for (const auto& parameter : parameters) sum += parameter.count();
    return sum;
}

double Model::forward_flops() const {
    double sum = 0;
    for (const auto& parameter : parameters) sum += parameter.forward_flops;
    return sum;
}

int Model::units() const {
    int last = -1;
    for (const auto& parameter : parameters) last = std::max(last, parameter.unit);
    return last + 1;
}

std::vector<std::int64_t> Model::unit_counts() const {
    std::vector<std::int64_t> counts(units(), 0);
    for (const auto& parameter : parameters) counts[parameter.unit] += parameter.count();
    return counts;
}

}  // namespace tutti
