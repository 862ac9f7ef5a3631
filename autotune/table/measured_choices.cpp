// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/measured_choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

namespace tutti {
namespace {

// Returns the kinds of memory that may represent the library's buffers, the most similar one first.
std::vector<BufferKind> kinds_for(const ExportedPart& part) {
    if (part.buffers) return {*part.buffers};
    if (part.on_devices) return {BufferKind::device};
    return {BufferKind::unregistered, BufferKind::registered, BufferKind::mapped,
            BufferKind::pinned};
}

// Orders sections by how well they represent the calls of programs, the best one first.
auto order_of(const Section& section, const std::vector<BufferKind>& kinds) {
    const Subject& subject = section.subject;
    return std::tuple(std::ranges::find(kinds, subject.buffers) - kinds.begin(), subject.types,
                      subject.ops);
}

struct MeasuredSpan {
    Bytes from, end;
};

std::optional<MeasuredSpan> measured_span(const Section& section) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    std::optional<MeasuredSpan> span;
    for (const Range& range : section.ranges)
        for (const RangeEvidence& seen : range.evidence) {
            if (seen.time.n == 0) continue;
            const std::int64_t size = seen.size.count;
            if (!span) span = {{size / 2}, {0}};
            span->end = {size > most / 2 ? most : 2 * size};
        }
    // A call without buffers has no size.
    if (span && !has_buffers(section.subject.collective)) span = {{0}, {most}};
    return span;
}

MeasuredChoices choices_in(const Section& section, MeasuredSpan span) {
    MeasuredChoices found{
        section.subject.collective, section.job_shape, section.subject.buffers, {}};
    for (std::size_t i = 0; i < section.ranges.size(); ++i) {
        const Range& range = section.ranges[i];
        const bool is_last = i + 1 == section.ranges.size();
        const Bytes from = std::max(range.from, span.from);
        const Bytes end = is_last ? span.end : std::min(section.ranges[i + 1].from, span.end);
        if (from >= end) continue;
        if (!found.sizes.empty() && found.sizes.back().choice == range.choice)
            found.sizes.back().end = end;
        else
            found.sizes.push_back({from, end, range.choice});
    }
    return found;
}

}  // namespace

std::vector<MeasuredChoices> measured_choices(const Table& table, const ExportedPart& part) {
    const std::vector<BufferKind> kinds = kinds_for(part);
    std::map<std::pair<Collective, int>, const Section*> best;
    for (const Section& section : table.sections) {
        if (!section.job_shape.topology.starts_with(part.topology) || !measured_span(section) ||
            std::ranges::find(kinds, section.subject.buffers) == kinds.end())
            continue;
        const Section*& known = best[{section.subject.collective, section.job_shape.ranks}];
        if (known != nullptr && known->job_shape != section.job_shape)
            throw Error(fmt::format(
                "the table has choices for {} and for {}; select one topology, for example with "
                "--topology {}",
                to_string(known->job_shape), to_string(section.job_shape),
                short_fingerprint(section.job_shape.topology)));
        if (known == nullptr || order_of(section, kinds) < order_of(*known, kinds))
            known = &section;
    }
    if (best.empty())
        throw Error(fmt::format(
            "the table has no measured choices for {} memory{}; run: tutti "
            "tune --buffers {}",
            name_of(kinds.front()),
            part.topology.empty() ? "" : fmt::format(" on a topology {}...", part.topology),
            name_of(kinds.front())));
    std::vector<MeasuredChoices> found;
    for (const auto& [key, section] : best)
        found.push_back(choices_in(*section, *measured_span(*section)));
    return found;
}

}  // namespace tutti
