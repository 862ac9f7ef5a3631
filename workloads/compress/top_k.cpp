// SPDX-License-Identifier: Apache-2.0
#include "workloads/compress/top_k.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "base/error.hpp"

namespace tutti {
namespace {

// Magnitudes are in the order of their bits, whatever the bits are.
std::uint32_t size_of_number(float value) {
    return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu;
}

// A sample of so many tells the size of the largest percent within a few hundredths of a percent.
constexpr std::size_t sample = 16384;

}  // namespace

TopK::TopK(std::size_t count, Selection selection)
    : selection_(selection), kept_(count), sizes_(count) {
    if (count > std::numeric_limits<std::uint32_t>::max())
        throw Error("top-k takes vectors of up to 4294967295 elements; type a smaller --scale");
}

// The smallest magnitude of the `wanted` largest.
std::uint32_t TopK::threshold(std::size_t wanted) {
    const std::size_t stride =
        selection_ == Selection::exact ? 1 : std::max<std::size_t>(1, kept_.size() / sample);
    std::size_t looked_at = 0;
    for (std::size_t i = 0; i < kept_.size(); i += stride)
        sizes_[looked_at++] = size_of_number(kept_[i]);
    if (looked_at == 0) return 0;
    const std::size_t place = std::clamp<std::size_t>(wanted / stride, 1, looked_at);
    const auto at = sizes_.begin() + static_cast<std::ptrdiff_t>(place) - 1;
    std::nth_element(sizes_.begin(), at, sizes_.begin() + static_cast<std::ptrdiff_t>(looked_at),
                     std::greater<>());
    return *at;
}

void TopK::take(std::span<const float> gradient, std::span<Entry> entries) {
    for (std::size_t i = 0; i < kept_.size(); ++i) kept_[i] += gradient[i];
    const std::uint32_t least = threshold(entries.size());
    const auto number = [](std::size_t i) { return static_cast<std::uint32_t>(i); };
    // All that are larger have a place; those that just reach the threshold while there are any.
    std::size_t larger = 0, taken = 0;
    for (const float value : kept_) larger += size_of_number(value) > least ? 1 : 0;
    std::size_t equal = entries.size() - std::min(larger, entries.size());
    for (std::size_t i = 0; i < kept_.size() && taken < entries.size(); ++i) {
        const std::uint32_t size = size_of_number(kept_[i]);
        if (size < least || size == 0 || (size == least && equal == 0)) continue;
        if (size == least) --equal;
        entries[taken++] = {number(i), kept_[i]};
        kept_[i] = 0;
    }
    std::ranges::fill(entries.subspan(taken), Entry{});
}

std::size_t add(std::span<const Entry> entries, std::span<float> dense) {
    std::size_t fresh = 0;
    for (const Entry& entry : entries) {
        float& sum = dense[entry.index];
        fresh += sum == 0 && entry.value != 0 ? 1 : 0;
        sum += entry.value;
    }
    return fresh;
}

}  // namespace tutti
