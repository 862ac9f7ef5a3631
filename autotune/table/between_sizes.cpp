// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/between_sizes.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace tutti {
namespace {

// A size that was measured, and who won and came second.
struct Mark {
    Bytes size;
    Configuration choice;
    std::optional<Configuration> runner_up;
};

std::vector<Mark> measured_marks(const Section& section) {
    std::vector<Mark> marks;
    for (std::size_t i = 0; i < section.ranges.size(); ++i) {
        const Range& range = section.ranges[i];
        const bool is_last = i + 1 == section.ranges.size();
        for (const RangeEvidence& seen : range.evidence) {
            const bool inside =
                seen.size >= range.from && (is_last || seen.size < section.ranges[i + 1].from);
            if (inside && seen.time.n > 0)
                marks.push_back({seen.size, range.choice, seen.runner_up});
        }
    }
    std::ranges::stable_sort(marks, {}, &Mark::size);
    return marks;
}

// Sizes from `from` on, up to but without `to`, that one of two choices is to be found for.
struct Gap {
    Bytes from, to;
    Configuration one, other;

    bool holds(Bytes size) const { return from <= size && size < to; }
};

constexpr Bytes everything{std::int64_t{1} << 62};

// The powers of two next to a size, strictly below and above it.
Bytes power_below(Bytes size) {
    return {static_cast<std::int64_t>(
        std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(size.count, 2))) / 2)};
}
Bytes power_above(Bytes size) {
    if (size >= everything) return everything;
    return {static_cast<std::int64_t>(
        std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(size.count, 1))) * 2)};
}

std::vector<Gap> gaps_of(const std::vector<Mark>& marks) {
    constexpr Bytes as_small_as_any{64};  // messages of up to a cache line are all alike
    std::vector<Gap> gaps;
    const Mark &first = marks.front(), &last = marks.back();
    if (first.size > as_small_as_any)
        gaps.push_back({Bytes{0}, power_below(first.size), first.choice,
                        first.runner_up.value_or(first.choice)});
    for (std::size_t i = 1; i < marks.size(); ++i) {
        const Mark &left = marks[i - 1], &right = marks[i];
        const Bytes begin = power_above(left.size);
        if (left.choice != right.choice && begin < right.size &&
            right.size.count / 2 > left.size.count)
            gaps.push_back({begin, right.size, left.choice, right.choice});
    }
    gaps.push_back(
        {power_above(last.size), everything, last.choice, last.runner_up.value_or(last.choice)});
    return gaps;
}

// Where a choice can begin: where the section's ranges do, where gaps begin and end, and at powers
// of two between.
std::set<Bytes> beginnings(const Section& section, const std::vector<Gap>& gaps) {
    std::set<Bytes> sizes;
    for (const Range& range : section.ranges) sizes.insert(range.from);
    for (const Gap& gap : gaps) {
        for (Bytes size = gap.from; size < std::min(gap.to, largest_asked);
             size = power_above(size))
            sizes.insert(size);
        sizes.insert(gap.from);
        if (gap.to != everything) sizes.insert(gap.to);
    }
    return sizes;
}

// The choice that the section has for the size comes first: it stays where the model is silent.
Range decide(const Gap& gap, const Section& section, const Estimate& estimate, Bytes from) {
    const Configuration& present = range_at(section, from).choice;
    const Configuration& other = gap.one == present ? gap.other : gap.one;
    return best_of({present, &estimate}, {other, &estimate}, section.setting, from);
}

// Of all ranges that cover it, evidence belongs to the one that holds its size.
void keep_own_evidence(std::vector<Range>& ranges, const Section& section) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (ranges[i].origin == Origin::interpolated) continue;
        const Range& before = range_at(section, ranges[i].from);
        const bool is_last = i + 1 == ranges.size();
        for (const RangeEvidence& seen : before.evidence)
            if (seen.size >= ranges[i].from && (is_last || seen.size < ranges[i + 1].from))
                ranges[i].evidence.push_back(seen);
    }
}

}  // namespace

Section decided_between_sizes(const Section& section, const Predictor& predict) {
    const std::vector<Mark> marks = measured_marks(section);
    if (marks.empty()) return section;
    const std::vector<Gap> gaps = gaps_of(marks);
    const Estimate estimate(predict, section);
    Section decided = section;
    decided.ranges.clear();
    for (const Bytes from : beginnings(section, gaps)) {
        const auto gap = std::ranges::find_if(gaps, [&](const Gap& g) { return g.holds(from); });
        if (gap != gaps.end()) {
            decided.ranges.push_back(decide(*gap, section, estimate, from));
            continue;
        }
        const Range& present = range_at(section, from);
        decided.ranges.push_back(
            {.from = from, .choice = present.choice, .origin = present.origin});
    }
    decided.ranges = joined(std::move(decided.ranges));
    keep_own_evidence(decided.ranges, section);
    return decided;
}

std::vector<Range> joined(std::vector<Range> ranges) {
    std::vector<Range> result;
    for (Range& range : ranges) {
        if (result.empty() || result.back().choice != range.choice ||
            result.back().origin != range.origin) {
            result.push_back(std::move(range));
            continue;
        }
        if (range.origin != Origin::interpolated)
            std::ranges::move(range.evidence, std::back_inserter(result.back().evidence));
    }
    return result;
}

}  // namespace tutti
