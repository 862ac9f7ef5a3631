// SPDX-License-Identifier: Apache-2.0
#include "workloads/compress/top_k.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>

#include "base/error.hpp"

namespace tutti {
namespace {

// The order of these bits is the order of magnitudes, even for NaN.
std::uint32_t magnitude_bits(float value) {
    return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu;
}

// A sample of this size estimates the size of the largest percent within a few hundredths of a
// percent.
constexpr std::size_t sample = 16384;

// Exponent and the next three bits: real gradients spread over hundreds of bins.
constexpr std::size_t bins = 2048;
std::size_t bin_of(float value) { return magnitude_bits(value) >> 20; }

}  // namespace

TopK::TopK(std::size_t count, ThresholdSearch search)
    : search_(search), residual_(count), sizes_(count) {
    if (count > std::numeric_limits<std::uint32_t>::max())
        throw Error("top-k takes vectors of up to 4294967295 elements; use a smaller --scale");
}

// Returns the place-th largest of the first sizes, counted from 1.
std::uint32_t TopK::nth_largest(std::size_t place, std::size_t how_many) {
    const auto at = sizes_.begin() + static_cast<std::ptrdiff_t>(place) - 1;
    std::nth_element(sizes_.begin(), at, sizes_.begin() + static_cast<std::ptrdiff_t>(how_many),
                     std::greater<>());
    return *at;
}

// Compares only the values in the bin that contains it: a few percent of all.
std::uint32_t TopK::exact_threshold(std::size_t wanted) {
    std::array<std::uint32_t, bins> in_bin{};
    for (const float value : residual_) ++in_bin[bin_of(value)];
    std::size_t bin = bins - 1, above = 0;
    for (; above + in_bin[bin] < wanted; --bin) above += in_bin[bin];
    std::size_t together = 0;
    for (const float value : residual_) {
        // Writes always and keeps the value if it counts: a branch would be mispredicted too often.
        sizes_[together] = magnitude_bits(value);
        together += bin_of(value) == bin ? 1 : 0;
    }
    return nth_largest(wanted - above, together);
}

std::uint32_t TopK::sampled_threshold(std::size_t wanted) {
    const std::size_t stride = std::max<std::size_t>(1, residual_.size() / sample);
    std::size_t looked_at = 0;
    for (std::size_t i = 0; i < residual_.size(); i += stride)
        sizes_[looked_at++] = magnitude_bits(residual_[i]);
    return nth_largest(std::clamp<std::size_t>(wanted / stride, 1, looked_at), looked_at);
}

void TopK::take(std::span<const float> gradient, std::span<SparseEntry> entries) {
    if (entries.empty()) return;
    for (std::size_t i = 0; i < residual_.size(); ++i) residual_[i] += gradient[i];
    const std::uint32_t least = search_ == ThresholdSearch::exact
                                    ? exact_threshold(entries.size())
                                    : sampled_threshold(entries.size());
    // All larger values get a place; those equal to the threshold as long as there are places.
    std::size_t larger = 0, taken = 0;
    for (const float value : residual_) larger += magnitude_bits(value) > least ? 1 : 0;
    std::size_t equal = entries.size() - std::min(larger, entries.size());
    for (std::size_t i = 0; i < residual_.size() && taken < entries.size(); ++i) {
        const std::uint32_t size = magnitude_bits(residual_[i]);
        if (size < least || size == 0 || (size == least && equal == 0)) continue;
        if (size == least) --equal;
        entries[taken++] = {static_cast<std::uint32_t>(i), residual_[i]};
        residual_[i] = 0;
    }
    std::ranges::fill(entries.subspan(taken), SparseEntry{});
}

std::size_t add(std::span<const SparseEntry> entries, std::span<float> dense) {
    std::size_t fresh = 0;
    for (const SparseEntry& entry : entries) {
        float& sum = dense[entry.index];
        fresh += sum == 0 && entry.value != 0 ? 1 : 0;
        sum += entry.value;
    }
    return fresh;
}

}  // namespace tutti
