// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "autotune/search/sample_log.hpp"
#include "base/units.hpp"

namespace tutti {

/// The logarithm of the time of one arm over another's, with its standard error.
struct GapEstimate {
    double gap = 0, error = 0;
    /// Returns the expected loss from choosing the wrong arm, as a share: small for ties that noise
    /// hides, and for differences that noise cannot hide.
    double doubt() const;
};

/// Compares arms by the samples at a size and at its neighbours. The ratio of two arms changes
/// smoothly with the size, so neighbours lend their samples (kriging: a Gaussian process over the
/// logarithm of the size). Where noise is small, a size's own samples decide alone.
class GapModel {
public:
    /// Octaves over which sizes lend each other samples.
    static constexpr double reach = 3;

    GapModel(const SampleLog& log, std::span<const Bytes> sizes);

    /// Compares two arms that have raced at `size`.
    GapEstimate gap(std::size_t size, int slower, int faster) const;

    /// Returns the arm that no other is expected to beat, of those that raced at a size; -1: none
    /// did.
    int leader(std::size_t size) const;

    /// Returns the greatest doubt about the leader.
    double doubt(std::size_t size) const;

private:
    std::vector<std::size_t> lenders(std::size_t size, int one, int other) const;
    double covariance(std::size_t a, std::size_t b) const;

    const SampleLog& log_;
    std::vector<double> octaves_;  // logarithm of each size
};

}  // namespace tutti
