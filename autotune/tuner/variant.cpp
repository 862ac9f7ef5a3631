// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/variant.hpp"

#include <map>
#include <set>

namespace tutti {
namespace {

constexpr Bytes least_share{4096};

template <class Value>
int place_in(const std::set<Value>& values, const Value& value) {
    return static_cast<int>(std::distance(values.begin(), values.find(value)));
}

}  // namespace

Configuration configuration_of(const Candidate& candidate) {
    Configuration configuration{
        .impl = candidate.impl, .algorithm = candidate.algorithm, .transport = candidate.transport};
    if (!candidate.is_ours()) return configuration;
    if (candidate.row->pipelines) configuration.segment = candidate.segment;
    configuration.radix = candidate.radix;
    configuration.channels = candidate.channels;
    return configuration;
}

std::vector<Variant> variants_of(const std::vector<Candidate>& candidates) {
    std::vector<Variant> variants;
    std::map<std::string, int> families;
    std::set<Bytes> segments;
    std::set<int> radices, channels;
    for (const Candidate& candidate : candidates) {
        const Configuration configuration = configuration_of(candidate);
        const std::string family =
            configuration.impl + " " + configuration.algorithm + " " + configuration.transport;
        const int number =
            families.try_emplace(family, static_cast<int>(families.size())).first->second;
        segments.insert(configuration.segment);
        radices.insert(configuration.radix);
        channels.insert(configuration.channels);
        variants.push_back({candidate, configuration, {.family = number}});
    }
    for (Variant& variant : variants)
        variant.arm.level = {place_in(segments, variant.configuration.segment),
                             place_in(radices, variant.configuration.radix),
                             place_in(channels, variant.configuration.channels)};
    return variants;
}

bool carries_enough(const Variant& variant, Bytes vector) {
    const int channels = variant.configuration.channels;
    return channels <= 1 || vector.count >= channels * least_share.count;
}

}  // namespace tutti
