// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/found_ranges.hpp"

#include "autotune/search/ranges.hpp"
#include "autotune/table/verdict.hpp"
#include "autotune/tuner/hold_out.hpp"

namespace tutti {

std::vector<Range> ranges_found(std::span<const Finding> findings,
                                const std::function<const Configuration&(int arm)>& configuration,
                                double hysteresis) {
    const auto verdict_of = [&](const Finding& finding, int arm) {
        Verdict verdict{.choice = configuration(arm), .origin = Origin::interpolated};
        verdict.evidence.size = finding.size;
        for (const Evidence& entry : finding.entries) {
            if (entry.samples_ns.empty()) continue;
            const TimeInterval time = interval_of(std::span<const double>(entry.samples_ns));
            if (entry.arm == arm) {
                verdict.evidence.time = time;
                verdict.origin = Origin::measured;
            } else if (!verdict.evidence.runner_up) {
                verdict.evidence.runner_up = configuration(entry.arm);
                verdict.evidence.runner_up_time = time;
            }
        }
        return verdict;
    };
    std::vector<Verdict> verdicts;
    const FewerRanges fewer = ranges_of(findings, hysteresis);
    for (const SizeRange& range : fewer.ranges)
        for (std::size_t i = range.first; i <= range.last; ++i)
            verdicts.push_back(verdict_of(findings[i], range.arm));
    return ranges_of(verdicts);
}

}  // namespace tutti
