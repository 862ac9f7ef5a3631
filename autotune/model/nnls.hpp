// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

namespace tutti {

/// Least squares with non-negative unknowns. Equations are added one by one and kept as normal
/// equations, so memory depends on the unknowns only.
class NonNegativeFit {
public:
    explicit NonNegativeFit(std::size_t unknowns);

    /// Adds the equation: sum of row[i] * unknown[i] = target, with a weight.
    void add(std::span<const double> row, double target, double weight);

    /// Returns the solution by coordinate descent from `start`. Unknowns without an equation stay
    /// unchanged.
    std::vector<double> solve(std::vector<double> start) const;

private:
    std::size_t unknowns_;
    std::vector<double> products_;  // row times row
    std::vector<double> targets_;
    std::vector<std::size_t> named_;  // parameters of the equation that is being added
};

}  // namespace tutti
