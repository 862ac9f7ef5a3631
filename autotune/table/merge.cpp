// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/merge.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace tutti {
namespace {

// RFC 3339 in UTC sorts as text. Not less: of equals the one that comes later wins.
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
