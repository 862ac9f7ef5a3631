// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/sha256.hpp"
#include "results/record_fields.hpp"

namespace tutti {
namespace {

template <class Kind>
std::string line_of(std::string_view kind, const Kind& record) {
    JsonWriter writer{.object = {{"v", schema_version}, {"kind", kind}}};
    walk(writer, record);
    return one_line(writer.object);
}

template <class Kind>
Record read_as(const JsonPlace& line) {
    Kind record;
    decode(line, record);
    return record;
}

struct KindReader {
    std::string_view kind;
    Record (*read)(const JsonPlace&);
};

constexpr KindReader kind_readers[] = {
    {"session", read_as<Session>},
    {"launch", read_as<Launch>},
    {"point", read_as<Point>},
    {"fail", read_as<Fail>},
    {"end", read_as<End>},
    {"limits", read_as<Limits>},
    {"step", read_as<TrainingStep>},
    {"partial_step", read_as<TrainingStep>},
    {"pair", read_as<Pair>},
    {"verdict", read_as<VerdictRecord>},
    {"step_growth", read_as<StepGrowth>},
    {"point_over_launches", read_as<PointOverLaunches>},
    {"step_over_launches", read_as<StepOverLaunches>},
};

constexpr JsonRules rules{.whole = "the record"};

}  // namespace

std::string point_id(const Key& key) { return sha256(one_line(encode(key))).substr(0, 16); }

std::string to_json_line(const Session& session) { return line_of("session", session); }
std::string to_json_line(const Launch& launch) { return line_of("launch", launch); }
std::string to_json_line(const TrainingStep& step) {
    // Of a kind of its own: whoever counts steps passes over what is replaced later.
    return line_of(step.is_partial ? "partial_step" : "step", step);
}
std::string to_json_line(const Fail& fail) { return line_of("fail", fail); }
std::string to_json_line(const End& end) { return line_of("end", end); }
std::string to_json_line(const Limits& limits) { return line_of("limits", limits); }

std::string to_json_line(const Pair& pair) { return line_of("pair", pair); }
std::string to_json_line(const VerdictRecord& verdict) { return line_of("verdict", verdict); }
std::string to_json_line(const StepGrowth& times) { return line_of("step_growth", times); }

std::string to_json_line(const StepOverLaunches& step) {
    return line_of("step_over_launches", step);
}

std::string to_json_line(const PointOverLaunches& all) {
    JsonWriter writer{.object = {{"v", schema_version},
                                 {"kind", "point_over_launches"},
                                 {"point", point_id(all.point.key)}}};
    walk(writer, all);
    return one_line(writer.object);
}

std::string to_json_line(const Point& point) {
    JsonWriter writer{
        .object = {{"v", schema_version}, {"kind", "point"}, {"point", point_id(point.key)}}};
    walk(writer, point);
    return one_line(writer.object);
}

Record parse_json_line(std::string_view line, const Source& source, int number) {
    const JsonValue json = parse_json(line, source, number);
    const JsonPlace record(json, source, rules);
    const auto version = record.field("v");
    if (!version) source.fail(number, "not a tutti record (no \"v\")");
    if (const int written = version->whole_number<int>(); written != schema_version)
        source.fail(number, fmt::format("written in schema version {}; this tutti reads version {}",
                                        written, schema_version));
    const std::string& kind = record.needed("kind").text();
    for (const auto& row : kind_readers)
        if (row.kind == kind) return row.read(record);
    return std::monostate{};
}

}  // namespace tutti
