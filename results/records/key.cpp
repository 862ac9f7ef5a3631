// SPDX-License-Identifier: Apache-2.0
#include "results/records/key.hpp"

namespace tutti {

std::string candidate_name(const Key& key, SegmentInName segment) {
    Configuration shown = key.configuration;
    if (segment == SegmentInName::hidden) shown.segment = {};
    if (shown.is_ours()) return variant_name(shown);
    if (shown.algorithm == shown.impl) shown.algorithm.clear();  // older files name libraries so
    return to_string(shown);
}

std::string candidate_in_words(const Key& key) {
    const std::string& transport = key.configuration.transport;
    const std::string name = candidate_name(key, SegmentInName::shown);
    return transport.empty() ? name : name + " (" + transport + ")";
}

std::string call_in_words(const Key& key) {
    std::string words = std::string(name_of(key.coll)) + " " + to_string(key.bytes) + " " +
                        std::string(name_of(key.dtype));
    if (key.op) words += " " + std::string(name_of(*key.op));
    if (key.root) words += " root " + std::to_string(key.root->index);
    if (key.inplace) words += " in place";
    return words + " " + key.buf + (key.input.empty() ? "" : " " + key.input);
}

}  // namespace tutti
