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
    /// What choosing the other arm is expected to cost, as a share: ties that noise hides cost
    /// little, and so do differences that noise cannot hide.
    double doubt() const;
};

/// Compares arms by what was measured at a size and at those beside it: the ratio of two arms
/// changes smoothly with the size, so neighbours lend their samples (kriging: a Gaussian process
/// over the logarithm of the size). Where noise is small a size's own
/// samples decide alone.
class GapModel {
public:
    /// Octaves over which sizes lend each other samples.
    static constexpr double reach = 3;

    GapModel(const SampleLog& log, std::span<const Bytes> sizes);

    /// Both have raced at `size`.
    GapEstimate gap(std::size_t size, int slower, int faster) const;

    /// The arm that no other one is expected to beat, of those that raced at a size; -1: none did.
    int leader(std::size_t size) const;

    /// The greatest doubt in the leader.
    double doubt(std::size_t size) const;

private:
    std::vector<std::size_t> lenders(std::size_t size, int one, int other) const;
    double covariance(std::size_t a, std::size_t b) const;

    const SampleLog& log_;
    std::vector<double> octaves_;  // of the sizes
};

}  // namespace tutti
