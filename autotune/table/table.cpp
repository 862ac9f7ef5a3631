// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace tutti {
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

namespace {

// RFC 3339 in UTC sorts as text. "Not less", so that the later one of equals wins.
bool wins_over(const Section& later, const Section& earlier) {
    return std::pair(later.is_complete, std::string_view(later.measured_at)) >=
           std::pair(earlier.is_complete, std::string_view(earlier.measured_at));
}

std::vector<const Table*> by_time(std::span<const Table> tables) {
    std::vector<const Table*> sorted;
    for (const Table& table : tables) sorted.push_back(&table);
    std::ranges::stable_sort(sorted, {}, &Table::written);
    return sorted;
}

}  // namespace

Table merged(std::span<const Table> tables) {
    Table result;
    for (const Table* table : by_time(tables)) {
        result.written = table->written;
        result.tool = table->tool;
        if (!table->model.empty()) result.model = table->model;
    }
    std::map<std::pair<JobShape, Subject>, Section> best;
    for (const Table& table : tables)
        for (Section section : table.sections) {
            if (section.measured_at.empty()) section.measured_at = table.written;
            const auto [place, is_new] =
                best.try_emplace({section.job_shape, section.subject}, section);
            if (!is_new && wins_over(section, place->second)) place->second = std::move(section);
        }
    for (auto& [key, section] : best) result.sections.push_back(std::move(section));
    return result;
}

}  // namespace tutti
