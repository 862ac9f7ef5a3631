// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/so_far.hpp"

namespace tutti {

void SoFar::add(const KeptSamples& race) {
    if (race.samples_ns.empty()) return;
    std::vector<double>& all = samples_[race.size][race.arm];
    all.insert(all.end(), race.samples_ns.begin(), race.samples_ns.end());
}

std::vector<Finding> SoFar::findings(std::span<const Bytes> sizes) const {
    std::vector<Finding> findings;
    for (const Bytes size : sizes) {
        const auto known = samples_.find(size);
        findings.push_back(
            finding_by_medians(size, known == samples_.end() ? SamplesByArm{} : known->second));
    }
    return findings;
}

}  // namespace tutti
