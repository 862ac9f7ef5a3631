// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/adapt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "autotune/table/usable.hpp"
#include "base/error.hpp"

namespace tutti {
namespace {

// The largest size that the model is asked for; the last choice is used for all larger sizes.
constexpr Bytes largest_asked{std::int64_t{1} << 36};

// A measured size, its winner and runner-up.
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

// Sizes in [from, to) for which one of two choices must be found.
struct Gap {
    Bytes from, to;
    Configuration one, other;

    bool holds(Bytes size) const { return from <= size && size < to; }
};

constexpr Bytes everything{std::int64_t{1} << 62};

// Returns the powers of two next to a size, strictly below and above it.
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
    constexpr Bytes as_small_as_any{64};  // messages up to a cache line take the same time
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

// Returns the sizes where a choice can begin: where ranges of the section begin, where gaps begin
// and end, and powers of two in between.
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

// The section's own choice for the size comes first: it stays if the model makes no prediction.
Range decide(const Gap& gap, const Section& section, const Estimate& estimate, Bytes from) {
    const Configuration& present = range_at(section, from).choice;
    const Configuration& other = gap.one == present ? gap.other : gap.one;
    return best_of({present, &estimate}, {other, &estimate}, section.job_shape, from);
}

// Evidence belongs to the range that contains its size.
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

// Merges consecutive ranges with the same choice and origin, with all their evidence. Estimates are
// kept only for the start of a range.
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

// Returns the section with new choices for sizes further than a factor of 2 from any measured one.
// Between two sizes with different choices it takes one of these; beyond the last and below the
// first (but not below a cache line) the choice there or its runner-up; the model decides. Such
// ranges are marked as interpolated. A section without measurements stays unchanged.
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

double times_apart(int a, int b) { return std::abs(std::log2(static_cast<double>(a) / b)); }

// The number of ranks matters more than their distribution over hosts.
auto distance(const Section& section, const JobShape& job_shape) {
    return std::tuple(section.job_shape.topology != job_shape.topology,
                      times_apart(section.job_shape.ranks, job_shape.ranks),
                      times_apart(section.job_shape.ranks_per_host, job_shape.ranks_per_host));
}

// Returns the nearest sections of a subject with at most as many ranks, and with at least as many;
// the nearer one first, and the same twice if there is only one.
struct Neighbours {
    const Section *near = nullptr, *far = nullptr;
};

Neighbours neighbours(const std::vector<const Section*>& sections, const Subject& subject,
                      const JobShape& job_shape) {
    const Section *below = nullptr, *above = nullptr;
    const auto offer = [&](const Section*& place, const Section* section) {
        if (!place || distance(*section, job_shape) < distance(*place, job_shape)) place = section;
    };
    for (const Section* section : sections) {
        if (section->subject != subject || section->ranges.empty()) continue;
        if (section->job_shape.ranks <= job_shape.ranks) offer(below, section);
        if (section->job_shape.ranks >= job_shape.ranks) offer(above, section);
    }
    if (!below) below = above;
    if (!above) above = below;
    if (distance(*above, job_shape) < distance(*below, job_shape)) std::swap(below, above);
    return {below, above};
}

// Returns the section's choice at the size as if it had been made for these ranks.
std::optional<Configuration> choice_for(const Section& section, const JobShape& job_shape,
                                        Bytes size) {
    const Range& range = range_at(section, size);
    if (!unusable(range.choice, section.subject, job_shape)) return range.choice;
    Section here = section;
    here.job_shape = job_shape;
    return fallback(here, range);
}

std::set<Bytes> beginnings(const Neighbours& sections) {
    std::set<Bytes> sizes;
    for (const Section* section : {sections.near, sections.far})
        for (const Range& range : section->ranges) sizes.insert(range.from);
    constexpr Bytes smallest{16};
    for (Bytes size = smallest; size < largest_asked; size.count *= 2) sizes.insert(size);
    return sizes;
}

// Chooses between the two neighbours' choices by the model's prediction for these ranks.
std::optional<Section> between_ranks(const Neighbours& unmarked, const JobShape& job_shape,
                                     const Predictor& predict) {
    const Section near = decided_between_sizes(*unmarked.near, predict);
    const Section far = decided_between_sizes(*unmarked.far, predict);
    const Estimate near_estimate(predict, near), far_estimate(predict, far);
    Section section{.job_shape = job_shape,
                    .subject = near.subject,
                    .launches = near.launches,
                    .is_complete = near.is_complete && far.is_complete,
                    .measured_at = near.measured_at};
    for (const Bytes size : beginnings({&near, &far})) {
        auto one = choice_for(near, job_shape, size), other = choice_for(far, job_shape, size);
        if (!one) one = other;
        if (!other) other = one;
        if (!one) continue;
        section.ranges.push_back(
            best_of({*one, &near_estimate}, {*other, &far_estimate}, job_shape, size));
    }
    if (section.ranges.empty()) return std::nullopt;
    section.ranges.front().from = Bytes{0};
    section.ranges = joined(std::move(section.ranges));
    return section;
}

[[noreturn]] void refuse(const Table& table, const JobShape& job_shape) {
    if (table.sections.empty()) throw Error("the table has no choices; run: tutti tune");
    throw Error(fmt::format(
        "the table was made on another topology ({}) than this one ({}); run: tutti tune, or use "
        "it with --table-anyway (in C++: .table_anyway; preloaded: TUTTI_TABLE_ANYWAY=1)",
        short_fingerprint(table.sections.front().job_shape.topology),
        short_fingerprint(job_shape.topology)));
}

}  // namespace

Table adapted(const Table& table, const JobShape& job_shape, const Predictor& predict,
              AdaptOptions options) {
    std::vector<const Section*> sections;
    std::set<Subject> subjects;
    for (const Section& section : table.sections)
        if (options.anyway || section.job_shape.topology == job_shape.topology) {
            sections.push_back(&section);
            subjects.insert(section.subject);
        }
    if (sections.empty()) refuse(table, job_shape);
    Table result{.written = table.written, .tool = table.tool, .model = table.model};
    for (const Subject& subject : subjects) {
        if (const Section* exact = find_section(table, job_shape, subject)) {
            result.sections.push_back(decided_between_sizes(*exact, predict));
            continue;
        }
        const Neighbours nearest = neighbours(sections, subject, job_shape);
        if (auto section = between_ranks(nearest, job_shape, predict))
            result.sections.push_back(*std::move(section));
    }
    return result;
}

}  // namespace tutti
