// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/json_writer.hpp"
#include "samples.hpp"

namespace tutti {
namespace {

// The part of the schema that a line of this kind is held against.
Json schema_of_line(const Json& line) {
    const Json schema = Json::parse(json_schema());
    for (const Json& one : schema["allOf"])
        if (one["if"]["properties"]["kind"]["const"] == line["kind"])
            return one["then"].contains("if")
                       ? one["then"][line.contains("skipped") ? "then" : "else"]
                       : one["then"];
    ADD_FAILURE() << "no schema of kind " << line["kind"];
    return {};
}

bool is_read(const Json& line) {
    return thrown_by([&] { parse_json_line(one_line(line)); }).text.empty();
}

bool is_required(const Json& schema, const std::string& name) {
    for (const Json& one : schema["required"])
        if (one == name) return true;
    return false;
}

// Every field of the object at `place`, and of the objects within: without it, and of another type,
// the reader must take the line if and only if the schema does.
void compare_fields(const Json& line, const Json::json_pointer& place, const Json& schema) {
    for (const auto& [name, sub] : schema["properties"].items()) {
        if (name == "skipped" && line.contains(name)) continue;  // without it another part holds
        const auto field = place / name;
        Json without = line;
        without[place].erase(name);
        EXPECT_EQ(is_read(without), !is_required(schema, name)) << "without " << field;
        if (!line.contains(field)) continue;
        Json null = line, list = line;
        null[field] = nullptr;
        EXPECT_EQ(is_read(null), sub.contains("anyOf")) << "null as " << field;
        list[field] = Json::array({Json::object()});
        EXPECT_FALSE(is_read(list)) << "a list of an object as " << field;
        const Json& value_schema = sub.contains("anyOf") ? sub["anyOf"][0] : sub;
        const Json& value = line[field];
        if (value.is_object() && value_schema.contains("properties"))
            compare_fields(line, field, value_schema);
        if (value.is_array() && !value.empty() && value_schema["items"].contains("properties"))
            compare_fields(line, field / 0, value_schema["items"]);
    }
}

}  // namespace

TEST(JsonSchema, RequiresWhatTheReaderRequires) {
    TrainingStep step;
    Launch launch;
    launch.hosts.resize(1);
    launch.ranks.resize(1);
    launch.mpi = Library{.vendor = "Open MPI", .version = "4.1.4"};
    launch.clock = ClockSync{.mode = "ping-pong"};
    Session session;
    session.tool.version = "0.1.0";
    for (const std::string& text :
         {to_json_line(session), to_json_line(launch), to_json_line(sample_point()),
          to_json_line(skipped_point()), to_json_line(step), to_json_line(Fail{}),
          to_json_line(End{.health = {{"h", {{"link_errors", 2, "eth0", "eth0: 2 frames"}}}}}),
          to_json_line(sample_limits()), to_json_line(Pair{}), to_json_line(VerdictRecord{}),
          to_json_line(LowerLimits{.limit_ns = {{"0123456789abcdef", 5}}}),
          to_json_line(Numerics{.of = {{.max_ulp = 0.5, .ranks_agree = true}}})}) {
        const Json line = Json::parse(text);
        ASSERT_TRUE(is_read(line));
        compare_fields(line, Json::json_pointer(), schema_of_line(line));
    }
}

TEST(JsonSchema, HasEveryFieldThatIsWritten) {
    const Json line = Json::parse(to_json_line(sample_point()));
    const Json schema = schema_of_line(line);
    for (const auto& [name, value] : line.items()) {
        const bool frames_the_record = name == "v" || name == "kind" || name == "point";
        EXPECT_TRUE(frames_the_record || schema["properties"].contains(name)) << name;
    }
}

}  // namespace tutti
