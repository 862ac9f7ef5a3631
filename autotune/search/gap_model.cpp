// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/gap_model.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "autotune/choice/scale.hpp"

namespace tutti {
namespace {

// A ratio changes from one value to another (latency to bandwidth) within about six octaves, and
// these values differ by factors. Effects of one size only (caches, odd segments) are a few
// percent, which no neighbouring size predicts.
constexpr double spread = 1;
constexpr double own_variation = 0.03;

/// Solves matrix * x = right, symmetric and positive definite, by elimination.
std::vector<double> solved(std::vector<std::vector<double>> matrix, std::vector<double> right) {
    const std::size_t n = right.size();
    for (std::size_t pivot = 0; pivot < n; ++pivot)
        for (std::size_t row = pivot + 1; row < n; ++row) {
            const double factor = matrix[row][pivot] / matrix[pivot][pivot];
            for (std::size_t column = pivot; column < n; ++column)
                matrix[row][column] -= factor * matrix[pivot][column];
            right[row] -= factor * right[pivot];
        }
    for (std::size_t row = n; row-- > 0;) {
        for (std::size_t column = row + 1; column < n; ++column)
            right[row] -= matrix[row][column] * right[column];
        right[row] /= matrix[row][row];
    }
    return right;
}

}  // namespace

double GapEstimate::doubt() const {
    const double x = gap / error;
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    const double beyond = std::erfc(x / std::numbers::sqrt2) / 2;
    return error * std::max(0.0, density - x * beyond);
}

GapModel::GapModel(const SampleLog& log, std::span<const Bytes> sizes) : log_(log) {
    for (const Bytes size : sizes) octaves_.push_back(octaves(Bytes{1}, size));
}

double GapModel::covariance(std::size_t a, std::size_t b) const {
    const double apart = (octaves_[a] - octaves_[b]) / reach;
    return spread * spread * std::exp(-apart * apart / 2) +
           (a == b ? own_variation * own_variation : 0);
}

std::vector<std::size_t> GapModel::lenders(std::size_t size, int one, int other) const {
    std::vector<std::size_t> sizes;
    for (std::size_t lender = 0; lender < octaves_.size(); ++lender)
        if (std::abs(octaves_[lender] - octaves_[size]) <= reach && log_.count(lender, one) > 0 &&
            log_.count(lender, other) > 0)
            sizes.push_back(lender);
    return sizes;
}

GapEstimate GapModel::gap(std::size_t size, int slower, int faster) const {
    const std::vector<std::size_t> seen = lenders(size, slower, faster);
    std::vector<std::vector<double>> matrix;
    std::vector<double> gaps, towards;
    for (const std::size_t row : seen) {
        std::vector<double>& line = matrix.emplace_back();
        for (const std::size_t column : seen) line.push_back(covariance(row, column));
        const double error = log_.gap_error(row, slower, faster);
        line[gaps.size()] += error * error;
        gaps.push_back(log_.gap(row, slower, faster));
        towards.push_back(covariance(row, size));
    }
    const std::vector<double> weights = solved(matrix, towards);
    GapEstimate estimate;
    double variance = covariance(size, size);
    for (std::size_t i = 0; i < seen.size(); ++i) {
        estimate.gap += weights[i] * gaps[i];
        variance -= weights[i] * towards[i];
    }
    estimate.error = std::sqrt(std::max(variance, 1e-12));
    return estimate;
}

int GapModel::leader(std::size_t size) const {
    const int reference = log_.leader(size);
    int best = reference;
    double least = 0;
    for (const int arm : log_.raced(size)) {
        if (arm == reference) continue;
        const double here = gap(size, arm, reference).gap;
        if (here >= least) continue;
        least = here;
        best = arm;
    }
    return best;
}

double GapModel::doubt(std::size_t size) const {
    const int first = leader(size);
    double greatest = 0;
    for (const int arm : log_.raced(size))
        if (arm != first) greatest = std::max(greatest, gap(size, arm, first).doubt());
    return greatest;
}

}  // namespace tutti
