// SPDX-License-Identifier: Apache-2.0
#include "autotune/model/nnls.hpp"

#include <algorithm>
#include <cmath>

namespace tutti {

NonNegativeFit::NonNegativeFit(std::size_t unknowns)
    : unknowns_(unknowns), products_(unknowns * unknowns), targets_(unknowns) {}

void NonNegativeFit::add(std::span<const double> row, double target, double weight) {
    named_.clear();
    for (std::size_t i = 0; i < unknowns_; ++i)
        if (row[i] != 0) named_.push_back(i);
    for (const std::size_t i : named_) {
        targets_[i] += weight * row[i] * target;
        for (const std::size_t j : named_) products_[i * unknowns_ + j] += weight * row[i] * row[j];
    }
}

std::vector<double> NonNegativeFit::solve(std::vector<double> x) const {
    constexpr int most_rounds = 5000;
    constexpr double still = 1e-7;  // relative change of an unknown that counts as none
    // Unknowns of different parameters never meet, so most products are 0.
    std::vector<std::vector<std::size_t>> meets(unknowns_);
    for (std::size_t i = 0; i < unknowns_; ++i)
        for (std::size_t j = 0; j < unknowns_; ++j)
            if (products_[i * unknowns_ + j] != 0) meets[i].push_back(j);
    for (int round = 0; round < most_rounds; ++round) {
        bool moved = false;
        for (std::size_t i = 0; i < unknowns_; ++i) {
            if (meets[i].empty()) continue;
            double slope = -targets_[i];
            for (const std::size_t j : meets[i]) slope += products_[i * unknowns_ + j] * x[j];
            const double next = std::max(0.0, x[i] - slope / products_[i * unknowns_ + i]);
            moved = moved || std::abs(next - x[i]) > still * std::max(next, x[i]);
            x[i] = next;
        }
        if (!moved) break;
    }
    return x;
}

}  // namespace tutti
