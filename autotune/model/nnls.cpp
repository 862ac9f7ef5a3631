// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/nnls.hpp"

#include <algorithm>
#include <cmath>

namespace tutti {

NonNegativeFit::NonNegativeFit(std::size_t unknowns)
    : unknowns_(unknowns), products_(unknowns * unknowns), targets_(unknowns) {}

void NonNegativeFit::add(std::span<const double> row, double target, double weight) {
    for (std::size_t i = 0; i < unknowns_; ++i) {
        if (row[i] == 0) continue;
        targets_[i] += weight * row[i] * target;
        for (std::size_t j = 0; j < unknowns_; ++j)
            products_[i * unknowns_ + j] += weight * row[i] * row[j];
    }
}

std::vector<double> NonNegativeFit::solve(std::vector<double> x) const {
    constexpr int most_rounds = 20000;
    constexpr double still = 1e-10;  // change that is none, as a share of the unknown
    for (int round = 0; round < most_rounds; ++round) {
        bool moved = false;
        for (std::size_t i = 0; i < unknowns_; ++i) {
            const double curvature = products_[i * unknowns_ + i];
            if (curvature <= 0) continue;
            double slope = -targets_[i];
            for (std::size_t j = 0; j < unknowns_; ++j)
                slope += products_[i * unknowns_ + j] * x[j];
            const double next = std::max(0.0, x[i] - slope / curvature);
            moved = moved || std::abs(next - x[i]) > still * std::max(next, x[i]);
            x[i] = next;
        }
        if (!moved) break;
    }
    return x;
}

}  // namespace tutti
