// SPDX-License-Identifier: Apache-2.0
// A table as the drawer in scripts/plots needs it: boxes on an axis of sizes, with their texts.
#include <fmt/format.h>

#include "autotune/table/explain.hpp"
#include "autotune/table/range_text.hpp"
#include "base/json_writer.hpp"

namespace tutti {
namespace {

Json picture_box(const Range& range, double end, const std::string& end_text,
                 const SizeAxis& axis) {
    const RangeEvidence* seen = typical_evidence(range);
    const auto gain = seen != nullptr ? gain_of(range, *seen) : std::nullopt;
    return {{"begin", axis.place_of(range.from)},
            {"end", end},
            {"sizes", fmt::format("{} to {}", to_string(range.from), end_text)},
            {"algorithm", range.choice.is_ours() ? range.choice.algorithm : ""},
            {"choice", short_text(range.choice)},
            {"origin", std::string(name_of(range.origin))},
            {"gain", gain ? gain_text(*gain) : ""},
            {"short_gain", gain ? fmt::format("{:.2f}", gain->gain) : ""}};
}

Json picture_row(const Section& section, const SizeAxis& axis) {
    const std::string name(name_of(section.subject.collective));
    Json boxes = Json::array();
    for (std::size_t i = 0; i < section.ranges.size(); ++i) {
        const bool is_last = i + 1 == section.ranges.size();
        const Bytes next = is_last ? Bytes{} : section.ranges[i + 1].from;
        boxes.push_back(picture_box(section.ranges[i],
                                    is_last ? axis.octaves() : axis.place_of(next),
                                    is_last ? "any" : to_string(next), axis));
    }
    return {{"collective", name},
            {"subject", to_string(section.subject).substr(name.size() + 1)},
            {"complete", section.is_complete},
            {"boxes", boxes}};
}

}  // namespace

std::string to_picture_json(const Table& table) {
    const SizeAxis axis(table);
    Json sizes = Json::array(), shapes = Json::array();
    for (int octave = 0; octave <= axis.octaves(); ++octave)
        sizes.push_back(to_string(axis.size_at(octave)));
    for (const JobShape& job_shape : job_shapes_of(table)) {
        Json rows = Json::array();
        for (const Section& section : table.sections)
            if (section.job_shape == job_shape && !section.ranges.empty())
                rows.push_back(picture_row(section, axis));
        shapes.push_back({{"title", to_string(job_shape)}, {"rows", rows}});
    }
    return one_line(Json{{"sizes", sizes}, {"shapes", shapes}, {"letters", letters_of_knobs()}});
}

}  // namespace tutti
