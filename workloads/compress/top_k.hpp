// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tutti {

/// An element of a sparse vector.
struct SparseEntry {
    std::uint32_t index = 0;
    float value = 0;
    bool operator==(const SparseEntry&) const = default;
};

/// How the threshold that the largest magnitudes reach is found.
enum class ThresholdSearch : std::uint8_t {
    exact,   ///< quickselect (Hoare 1961) on all
    sampled  ///< on one of many: faster, but the number that reach it varies
};

/// Takes the elements of largest magnitude out of gradients and adds the rest to the next ones
/// (error feedback: Seide et al. 2014, Stich et al. 2018), so that nothing is lost, only delayed.
class TopK {
public:
    /// For vectors of `count` elements. Throws Error if `count` needs more than 32 bits.
    TopK(std::size_t count, ThresholdSearch search);

    /// Adds the gradient to the residual and moves at most entries.size() elements of it into
    /// `entries`, at most as many as the vector has, by rising index. Where fewer are large enough
    /// the last entries add 0 to element 0. Allocates nothing.
    void take(std::span<const float> gradient, std::span<SparseEntry> entries);

    std::span<const float> residual() const { return residual_; }

private:
    std::uint32_t nth_largest(std::size_t place, std::size_t how_many);
    std::uint32_t exact_threshold(std::size_t wanted);
    std::uint32_t sampled_threshold(std::size_t wanted);

    ThresholdSearch search_;
    std::vector<float> residual_;
    std::vector<std::uint32_t> sizes_;  // scratch: magnitudes, as bits
};

/// Adds entries into a dense vector; how many of its elements were 0 before.
std::size_t add(std::span<const SparseEntry> entries, std::span<float> dense);

}  // namespace tutti
