// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/name_table.hpp"

namespace tutti {
namespace {

constexpr Named<Origin> origin_names[] = {
    {Origin::measured, "measured"},   {Origin::interpolated, "interpolated"},
    {Origin::predicted, "predicted"}, {Origin::learnt, "learnt"},
    {Origin::kept, "kept"},
};

}  // namespace

std::string_view name_of(Origin origin) { return name_in(origin_names, origin); }
Origin parse_origin(std::string_view text) { return parse_from(origin_names, "origin", text); }

const Range& range_at(const Section& section, Bytes bytes) {
    const auto above = std::ranges::upper_bound(section.ranges, bytes, {}, &Range::from);
    return above == section.ranges.begin() ? *above : *std::prev(above);
}

const Section* find_section(const Table& table, const JobShape& job_shape, const Subject& subject) {
    const auto found = std::ranges::find_if(table.sections, [&](const Section& section) {
        return section.job_shape == job_shape && section.subject == subject;
    });
    return found == table.sections.end() ? nullptr : &*found;
}

std::vector<JobShape> job_shapes_of(const Table& table) {
    std::set<JobShape> shapes;
    for (const Section& section : table.sections) shapes.insert(section.job_shape);
    return {shapes.begin(), shapes.end()};
}

std::string to_string(const JobShape& job_shape) {
    return fmt::format("{} ranks, {} per host, topology {}", job_shape.ranks,
                       job_shape.ranks_per_host, short_fingerprint(job_shape.topology));
}

std::string short_fingerprint(std::string_view fingerprint) {
    constexpr std::size_t digits = 12;
    return fingerprint.empty() ? "unknown" : std::string(fingerprint.substr(0, digits));
}

}  // namespace tutti
