// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/sha256.hpp"
#include "results/record_fields.hpp"

namespace tutti {
namespace {

using Json = nlohmann::ordered_json;  // fields stay in the order of record_fields.hpp

template <class Value>
concept Number = std::is_arithmetic_v<Value>;
template <class Value>
concept Choice = std::is_enum_v<Value>;

// Records, and what is made of them. Declared first: each may hold the others.
template <class Described>
Json encode(const Described& record);
template <class Value>
Json encode(const std::optional<Value>& value);
template <class Value>
Json encode(const std::vector<Value>& values);

template <Number Value>
Json encode(const Value& value) {
    return value;
}

template <Choice Value>
Json encode(const Value& value) {
    return std::string(name_of(value));
}

Json encode(const std::string& text) { return text; }
Json encode(Bytes bytes) { return bytes.count; }
Json encode(Rank rank) { return rank.index; }
Json encode(const TextByName& texts) { return texts; }

// nccl-tests' words for "does not apply here".
Json encode(const std::optional<Op>& op) { return op ? encode(*op) : Json("none"); }
Json encode(const std::optional<Rank>& root) { return root ? encode(*root) : Json(-1); }

Json encode(const std::map<Rank, std::int64_t>& count_by_rank) {
    Json object = Json::object();
    for (const auto& [rank, count] : count_by_rank) object[std::to_string(rank.index)] = count;
    return object;
}

struct Writer {
    Json object = Json::object();

    template <class Value>
    void must(const char* name, const Value& value) {
        object[name] = encode(value);
    }
    template <class Value>
    void may(const char* name, const Value& value, const Value& usual = {}) {
        if (value != usual) must(name, value);
    }
    void interval(const char* name, std::int64_t lo, std::int64_t hi) {
        object[name] = Json::array({lo, hi});
    }
};

template <class Described>
Json encode(const Described& record) {
    Writer writer;
    walk(writer, record);
    return std::move(writer.object);
}

template <class Value>
Json encode(const std::optional<Value>& value) {
    return encode(value.value());  // `may` leaves out what is not there
}

template <class Value>
Json encode(const std::vector<Value>& values) {
    Json array = Json::array();
    for (const Value& value : values) array.push_back(encode(value));
    return array;
}

std::string one_line(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class Kind>
std::string line_of(std::string_view kind, const Kind& record) {
    Writer writer{.object = {{"v", schema_version}, {"kind", kind}}};
    walk(writer, record);
    return one_line(writer.object);
}

}  // namespace

std::string point_id(const Key& key) { return sha256(one_line(encode(key))).substr(0, 16); }

std::string to_json_line(const Session& session) { return line_of("session", session); }
std::string to_json_line(const Launch& launch) { return line_of("launch", launch); }
std::string to_json_line(const TrainingStep& step) { return line_of("step", step); }
std::string to_json_line(const Fail& fail) { return line_of("fail", fail); }
std::string to_json_line(const End& end) { return line_of("end", end); }
std::string to_json_line(const Limits& limits) { return line_of("limits", limits); }

std::string to_json_line(const Point& point) {
    Writer writer{
        .object = {{"v", schema_version}, {"kind", "point"}, {"point", point_id(point.key)}}};
    walk(writer, point);
    return one_line(writer.object);
}

}  // namespace tutti
