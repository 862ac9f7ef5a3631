// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/verdict.hpp"

#include <algorithm>
#include <bit>

#include "autotune/choice/scale.hpp"

namespace tutti {
namespace {

bool is_kept(Origin origin) { return origin == Origin::kept; }

std::vector<Bytes> measured_sizes(const Section& section) {
    std::vector<Bytes> sizes;
    for (const Range& range : section.ranges)
        for (const RangeEvidence& evidence : range.evidence) sizes.push_back(evidence.size);
    return sizes;
}

int octave(const Verdict& verdict) {
    return static_cast<int>(
        std::bit_width(static_cast<std::uint64_t>(verdict.evidence.size.count)));
}

void overlay(Section& below, const Section& learnt) {
    auto verdicts = verdicts_of(below, measured_sizes(below));
    for (const Verdict& found : verdicts_of(learnt, measured_sizes(learnt))) {
        std::erase_if(verdicts, [&](const Verdict& one) { return octave(one) == octave(found); });
        verdicts.push_back(found);
    }
    std::ranges::sort(verdicts, {}, [](const Verdict& one) { return one.evidence.size; });
    if (!verdicts.empty()) below.ranges = ranges_of(verdicts);
}

}  // namespace

std::vector<Range> ranges_of(const std::vector<Verdict>& verdicts) {
    std::vector<Range> ranges;
    Bytes before{0};
    for (const Verdict& verdict : verdicts) {
        const bool goes_on = !ranges.empty() && ranges.back().choice == verdict.choice &&
                             is_kept(ranges.back().origin) == is_kept(verdict.origin);
        if (goes_on && verdict.origin == Origin::measured) ranges.back().origin = Origin::measured;
        if (!goes_on)
            ranges.push_back(
                {.from = ranges.empty() ? Bytes{0} : halfway(before, verdict.evidence.size),
                 .choice = verdict.choice,
                 .origin = verdict.origin,
                 .evidence = {}});
        if (verdict.evidence.time.n > 0) ranges.back().evidence.push_back(verdict.evidence);
        before = verdict.evidence.size;
    }
    return ranges;
}

std::vector<Verdict> verdicts_of(const Section& section, std::span<const Bytes> sizes) {
    std::vector<Verdict> verdicts;
    for (const Bytes size : sizes) {
        const Range& range = range_at(section, size);
        const auto seen = std::ranges::find(range.evidence, size, &RangeEvidence::size);
        verdicts.push_back({range.choice, range.origin,
                            seen != range.evidence.end() ? *seen : RangeEvidence{.size = size}});
    }
    return verdicts;
}

void let_default_stay(Verdict& verdict) {
    const HoldOut& seen = verdict.evidence.hold_out.value();
    if (verdict.evidence.time.n == 0) verdict.evidence.time = seen.choice;
    if (seen.gain_low > 1 || verdict.choice.impl == seen.library) return;
    verdict.evidence.runner_up = verdict.choice;
    verdict.evidence.runner_up_time = seen.choice;
    verdict.evidence.time = seen.default_;
    verdict.choice = {.impl = seen.library};
    verdict.origin = Origin::kept;
}

void overlay(Table& table, const Table& learnt) {
    table.written = learnt.written;
    for (const Section& section : learnt.sections) {
        const auto is_same = [&](const Section& other) {
            return other.job_shape == section.job_shape && other.subject == section.subject;
        };
        const auto known = std::ranges::find_if(table.sections, is_same);
        if (known == table.sections.end())
            table.sections.push_back(section);
        else
            overlay(*known, section);
    }
}

}  // namespace tutti
