// SPDX-License-Identifier: Apache-2.0
#include "results/key.hpp"

namespace tutti {

std::string candidate_name(const Key& key, SegmentInName segment) {
    Configuration shown = key.configuration;
    if (segment == SegmentInName::hidden) shown.segment = {};
    if (shown.is_ours()) return variant_name(shown);
    if (shown.algorithm == shown.impl) shown.algorithm.clear();  // as older files name a library
    return to_string(shown);
}

}  // namespace tutti
