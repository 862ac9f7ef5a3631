// SPDX-License-Identifier: Apache-2.0
#include "results/records/key.hpp"

#include "base/collective_form.hpp"

namespace tutti {

std::string candidate_name(const Key& key, SegmentInName segment) {
    Configuration shown = key.configuration;
    if (segment == SegmentInName::hidden && shown.is_ours()) shown.segment = {};
    if (shown.is_ours()) return variant_name(shown);
    if (shown.algorithm == shown.impl) shown.algorithm.clear();  // older files name libraries so
    return to_string(shown);
}

std::string candidate_in_words(const Key& key) {
    const std::string& transport = key.configuration.transport;
    const std::string name = candidate_name(key, SegmentInName::shown);
    return transport.empty() ? name : name + " (" + transport + ")";
}

std::string name_of_collective(const Key& key) {
    return name_of(CollectiveForm{key.coll, !key.blocks.empty()});
}

std::string call_in_words(const Key& key) {
    std::string words = name_of_collective(key) + " " + to_string(key.bytes) + " " +
                        std::string(name_of(key.dtype));
    if (key.op) words += " " + std::string(name_of(*key.op));
    if (key.root) words += " root " + std::to_string(key.root->index);
    if (key.inplace) words += " in place";
    words += " " + key.buf;
    for (const std::string* more : {&key.input, &key.blocks})
        if (!more->empty()) words += " " + *more;
    if (!key.aggressor.empty()) words += " next to " + key.aggressor;
    return words;
}

}  // namespace tutti
