// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner/model_table.hpp"

#include <algorithm>

#include "autotune/search/ranges.hpp"
#include "autotune/table/estimate.hpp"
#include "autotune/table/verdict.hpp"
#include "autotune/tuner/calibration.hpp"
#include "base/index.hpp"

namespace tutti {
namespace {

// The model as if it were a evaluator: a race at one size has a sample of each, its prediction.
std::vector<Finding> findings_of(const Predictor& predict, const std::vector<Variant>& variants,
                                 const Subject& subject, const JobShape& setting,
                                 std::span<const Bytes> sizes) {
    std::vector<Finding> findings;
    for (const Bytes size : sizes) {
        Finding& finding = findings.emplace_back();
        finding.size = size;
        for (std::size_t arm = 0; arm < variants.size(); ++arm)
            if (const auto ns =
                    predict(variants[arm].candidate.configuration, subject, setting, size))
                finding.entries.push_back({.arm = static_cast<int>(arm), .samples_ns = {*ns}});
        std::ranges::stable_sort(finding.entries, {},
                                 [](const Evidence& entry) { return entry.samples_ns.front(); });
        if (finding.entries.empty()) continue;
        finding.winner = finding.entries.front().arm;
        for (Evidence& entry : finding.entries)
            entry.ratio = entry.samples_ns.front() / finding.entries.front().samples_ns.front();
    }
    return findings;
}

// What a model says has no interval.
TimeInterval predicted(const Evidence& entry) {
    const double ns = entry.samples_ns.front();
    return {.p50 = ns, .low = ns, .high = ns, .n = 0};
}

std::vector<Range> ranges_by_model(const std::vector<Finding>& findings,
                                   const std::vector<Variant>& variants, double hysteresis) {
    std::vector<Range> ranges;
    for (const SizeRange& range : ranges_of(std::span(findings), hysteresis).ranges) {
        Range& all = ranges.emplace_back();
        all.from = range.from;
        all.choice = at(variants, range.arm).candidate.configuration;
        all.origin = Origin::predicted;
        for (std::size_t i = range.first; i <= range.last; ++i) {
            RangeEvidence& evidence = all.evidence.emplace_back();
            evidence.size = findings[i].size;
            for (const Evidence& entry : findings[i].entries)
                if (entry.arm == range.arm)
                    evidence.time = predicted(entry);
                else if (!evidence.runner_up) {
                    evidence.runner_up = at(variants, entry.arm).candidate.configuration;
                    evidence.runner_up_time = predicted(entry);
                }
        }
    }
    return ranges;
}

}  // namespace

std::vector<Section> predicted_sections(const CostModel& model, const TuneRequest& request,
                                        const JobShape& setting) {
    const Predictor predict = predictor_of_job_shapes(model);
    std::vector<Section> sections;
    std::vector<BufferKind> kinds = request.buffers;
    if (kinds.empty()) kinds = {BufferKind::registered, BufferKind::unregistered};
    for (const Subject& subject : subjects_of(request, kinds)) {
        const auto variants = variants_of(candidates(subject.collective, request.search_space));
        const auto findings = findings_of(predict, variants, subject, setting, request.sizes);
        auto ranges = ranges_by_model(findings, variants, request.search.hysteresis);
        if (!ranges.empty())
            sections.push_back(
                {.setting = setting, .subject = subject, .ranges = std::move(ranges)});
    }
    return sections;
}

}  // namespace tutti
