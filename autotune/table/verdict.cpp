// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/verdict.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <string>

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

constexpr Bytes most_bytes{std::numeric_limits<std::int64_t>::max()};

// Returns the sizes that are learnt together with this one.
struct Octave {
    explicit Octave(Bytes size)
        : from{static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size.count)))},
          end{from.count > most_bytes.count / 2 ? most_bytes.count : 2 * from.count} {}
    Bytes from, end;
};

void add(std::vector<Range>& ranges, const Range& next) {
    if (ranges.empty() || ranges.back().choice != next.choice ||
        ranges.back().origin != next.origin) {
        ranges.push_back(next);
        return;
    }
    auto& evidence = ranges.back().evidence;
    evidence.insert(evidence.end(), next.evidence.begin(), next.evidence.end());
}

// Cuts ranges at the octave's ends. If all evidence of a range is in the octave, the rest of the
// range has no evidence left and gets the learnt choice.
std::vector<Range> with_learnt(std::span<const Range> ranges, const Verdict& learnt) {
    const Octave octave(learnt.evidence.size);
    std::vector<Range> all;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const Range& range = ranges[i];
        const Bytes end = i + 1 < ranges.size() ? ranges[i + 1].from : most_bytes;
        if (end <= octave.from || range.from >= octave.end) {
            add(all, range);
            continue;
        }
        const auto evidence = [&](Bytes from, Bytes until) {
            auto between = range.evidence;
            std::erase_if(between, [&](const RangeEvidence& one) {
                return one.size < from || one.size >= until;
            });
            return between;
        };
        const bool is_superseded = !evidence(octave.from, octave.end).empty();
        const auto piece = [&](Bytes from, Bytes until) -> std::optional<Range> {
            Range rest{from, range.choice, range.origin, evidence(from, until)};
            if (from >= until || (is_superseded && rest.evidence.empty())) return std::nullopt;
            return rest;
        };
        const auto below = piece(range.from, octave.from);
        if (below) add(all, *below);
        if (range.from <= octave.from)
            add(all, {below ? octave.from : range.from,
                      learnt.choice,
                      learnt.origin,
                      {learnt.evidence}});
        if (const auto above = piece(octave.end, end)) add(all, *above);
    }
    return all;
}

void overlay(Section& below, const Section& learnt) {
    for (const Verdict& found : verdicts_of(learnt, measured_sizes(learnt)))
        below.ranges = with_learnt(below.ranges, found);
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
    let_default_stay(verdict, seen.gain_low > 1 ? Gain::enough : Gain::too_small);
}

void let_default_stay(Verdict& verdict, Gain gain) {
    const HoldOut& seen = verdict.evidence.hold_out.value();
    if (verdict.evidence.time.n == 0) verdict.evidence.time = seen.choice;
    if (gain == Gain::too_small) restore_default(verdict, seen.library);
}

void restore_default(Verdict& verdict, std::string_view library) {
    const Configuration own{.impl = std::string(library)};
    if (verdict.choice == own) return;
    if (const auto& seen = verdict.evidence.hold_out) {
        verdict.evidence.runner_up = verdict.choice;
        verdict.evidence.runner_up_time = seen->choice;
        verdict.evidence.time = seen->default_;
    }
    verdict.choice = own;
    verdict.origin = Origin::kept;
}

void replace_wrong(std::vector<Verdict>& verdicts, const Configuration& wrong,
                   const Configuration& library) {
    for (Verdict& verdict : verdicts) {
        RangeEvidence& seen = verdict.evidence;
        if (verdict.choice == wrong)
            verdict = {.choice = library, .origin = Origin::kept, .evidence = {.size = seen.size}};
        if (seen.runner_up == wrong) {
            seen.runner_up.reset();
            seen.runner_up_time.reset();
        }
    }
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
