// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

namespace tutti {

/// Least squares whose unknowns must not be negative: equations are added one by one and kept as
/// normal equations, so memory goes with the unknowns only.
class NonNegativeFit {
public:
    explicit NonNegativeFit(std::size_t unknowns);

    /// sum of row[i] * unknown[i] = target, as important as `weight` says.
    void add(std::span<const double> row, double target, double weight);

    /// The solution, by coordinate descent from `start`. What no equation names stays as it is.
    std::vector<double> solve(std::vector<double> start) const;

private:
    std::size_t unknowns_;
    std::vector<double> products_;  // row times row
    std::vector<double> targets_;
    std::vector<std::size_t> named_;  // of the equation that is added
};

}  // namespace tutti
