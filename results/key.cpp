// SPDX-License-Identifier: Apache-2.0
#include "results/key.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace tutti {

std::string variant_name(const std::string& algorithm, Bytes segment, int radix, int channels,
                         const std::string& order) {
    std::vector<std::string> details;
    if (segment.count > 0) details.push_back(to_string(segment));
    if (radix > 0) details.push_back(fmt::format("k{}", radix));
    if (channels > 1) details.push_back(fmt::format("x{}", channels));
    std::string name = algorithm;
    if (!details.empty()) name += fmt::format("[{}]", fmt::join(details, ","));
    if (!order.empty()) name += fmt::format("@{}", order);
    return name;
}

std::string candidate_name(const Key& key, SegmentInName segment) {
    if (key.impl == "tutti")
        return variant_name(key.algo, segment == SegmentInName::told ? key.segment : Bytes{},
                            key.radix, key.channels, key.order);
    if (key.algo.empty() || key.algo == key.impl) return key.impl;
    return fmt::format("{}/{}", key.impl, key.algo);
}

}  // namespace tutti
