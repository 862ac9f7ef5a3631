// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/hashes.hpp"
#include "results/records/record_fields.hpp"

namespace tutti {
namespace {

template <class Kind>
std::string line_of(std::string_view kind, const Kind& record) {
    JsonWriter writer{.object = {{"v", schema_version}, {"kind", kind}}};
    walk(writer, record);
    return one_line(writer.object);
}

// Writes a record that has the id of a point.
template <class Kind>
std::string line_of(std::string_view kind, const Key& key, const Kind& record) {
    JsonWriter writer{.object = {{"v", schema_version}, {"kind", kind}, {"point", point_id(key)}}};
    walk(writer, record);
    return one_line(writer.object);
}

template <class Kind>
Record read_as(const JsonPlace& line) {
    Kind record;
    decode(line, record);
    return record;
}

// Returns the reason for skipping of a point or step, also over several launches; null for other
// kinds.
auto* skipped_in(auto& record) {
    if constexpr (requires { record.skipped; })
        return &record.skipped;
    else if constexpr (requires { record.point.skipped; })
        return &record.point.skipped;
    else if constexpr (requires { record.step.skipped; })
        return &record.step.skipped;
    else
        return static_cast<std::optional<std::string>*>(nullptr);
}

// Skipped records have no times.
template <class Kind>
Json schema_of_kind() {
    Kind record;
    Json schema = schema_of(record);
    auto* const skipped = skipped_in(record);
    if (skipped == nullptr) return schema;
    *skipped = "";
    return {{"if",
             {{"required", Json::array({"skipped"})},
              {"properties", {{"skipped", {{"type", "string"}}}}}}},
            {"then", schema_of(record)},
            {"else", schema}};
}

struct KindRow {
    std::string_view kind;
    Record (*read)(const JsonPlace&);
    Json (*schema)();
};

template <class Kind>
constexpr KindRow row_of(std::string_view kind) {
    return {kind, read_as<Kind>, schema_of_kind<Kind>};
}

constexpr KindRow kind_rows[] = {
    row_of<Session>("session"),
    row_of<Launch>("launch"),
    row_of<Point>("point"),
    row_of<Fail>("fail"),
    row_of<End>("end"),
    row_of<Limits>("limits"),
    row_of<LowerLimits>("lower_limits"),
    row_of<TrainingStep>("step"),
    row_of<TrainingStep>("partial_step"),
    row_of<Pair>("pair"),
    row_of<VerdictRecord>("verdict"),
    row_of<FloorRecord>("floor"),
    row_of<StepGrowth>("step_growth"),
    row_of<PointOverLaunches>("point_over_launches"),
    row_of<StepOverLaunches>("step_over_launches"),
    row_of<Numerics>("numerics"),
};

// Sums and differences of a record's numbers fit a number: 104 days in ns.
constexpr JsonRules rules{.whole = "the record", .most = std::int64_t{1} << 53};

}  // namespace

std::string point_id(const Key& key) { return sha256(one_line(encode(key))).substr(0, 16); }

std::string to_json_line(const Session& session) { return line_of("session", session); }
std::string to_json_line(const Launch& launch) { return line_of("launch", launch); }
std::string to_json_line(const TrainingStep& step) {
    // A separate kind, so that programs that count steps ignore what is replaced later.
    return line_of(step.is_partial ? "partial_step" : "step", step);
}
std::string to_json_line(const Fail& fail) { return line_of("fail", fail); }
std::string to_json_line(const End& end) { return line_of("end", end); }
std::string to_json_line(const Limits& limits) { return line_of("limits", limits); }
std::string to_json_line(const LowerLimits& limits) { return line_of("lower_limits", limits); }

std::string to_json_line(const Pair& pair) { return line_of("pair", pair); }
std::string to_json_line(const VerdictRecord& verdict) { return line_of("verdict", verdict); }
std::string to_json_line(const StepGrowth& times) { return line_of("step_growth", times); }

std::string to_json_line(const StepOverLaunches& step) {
    return line_of("step_over_launches", step);
}

std::string to_json_line(const PointOverLaunches& all) {
    return line_of("point_over_launches", all.point.key, all);
}
std::string to_json_line(const FloorRecord& floor) { return line_of("floor", floor); }

std::string to_json_line(const Point& point) { return line_of("point", point.key, point); }
std::string to_json_line(const Numerics& numerics) {
    return line_of("numerics", numerics.key, numerics);
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
    for (const auto& row : kind_rows)
        if (row.kind == kind) return row.read(record);
    return std::monostate{};
}

std::string json_schema() {
    Json kinds = Json::array();
    for (const KindRow& row : kind_rows)
        kinds.push_back(
            {{"if", {{"properties", {{"kind", {{"const", row.kind}}}}}}}, {"then", row.schema()}});
    const Json schema{
        {"$schema", "https://json-schema.org/draft/2020-12/schema"},
        {"title", fmt::format("A line of a results file of tutti, version {}", schema_version)},
        {"type", "object"},
        {"properties", {{"v", {{"const", schema_version}}}, {"kind", {{"type", "string"}}}}},
        {"required", Json::array({"v", "kind"})},
        {"allOf", kinds}};
    return schema.dump(2);
}

}  // namespace tutti
