// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "results/record_fields.hpp"

namespace tutti {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const Json& json, std::string_view wanted) {
    std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
    if (text.size() > 40) text = text.substr(0, 37) + "...";
    throw Error(fmt::format("{} is no {}", text, wanted));
}

// Records, and what is made of them. Declared first: each may hold the others.
template <class Described>
void decode(const Json& json, Described& record);
template <class Value>
void decode(const Json& json, std::optional<Value>& value);
template <class Value>
void decode(const Json& json, std::vector<Value>& values);

template <std::integral Value>
void decode(const Json& json, Value& value) {
    // Checked by hand: the library converts what is too large, or no integer at all, without a
    // word.
    if (json.is_number_unsigned() && std::in_range<Value>(json.get<std::uint64_t>()))
        value = static_cast<Value>(json.get<std::uint64_t>());
    else if (json.is_number_integer() && !json.is_number_unsigned() &&
             std::in_range<Value>(json.get<std::int64_t>()))
        value = static_cast<Value>(json.get<std::int64_t>());
    else
        refuse(json, "integer that fits");
}

void decode(const Json& json, bool& value) {
    if (!json.is_boolean()) refuse(json, "true or false");
    value = json.get<bool>();
}

void decode(const Json& json, double& value) {
    if (!json.is_number()) refuse(json, "number");
    value = json.get<double>();
}

void decode(const Json& json, std::string& text) {
    if (!json.is_string()) refuse(json, "text");
    text = json.get<std::string>();
}

template <class Value, Value parse(std::string_view)>
void decode_name(const Json& json, Value& value) {
    std::string name;
    decode(json, name);
    value = parse(name);
}

void decode(const Json& json, Collective& c) { decode_name<Collective, parse_collective>(json, c); }
void decode(const Json& json, DataType& type) {
    decode_name<DataType, parse_data_type>(json, type);
}
void decode(const Json& json, Op& op) { decode_name<Op, parse_op>(json, op); }
void decode(const Json& json, Start& start) { decode_name<Start, parse_start>(json, start); }
void decode(const Json& json, TimeFrom& from) {
    decode_name<TimeFrom, parse_time_from>(json, from);
}
void decode(const Json& json, CheckState& s) {
    decode_name<CheckState, parse_check_state>(json, s);
}

void decode(const Json& json, Bytes& bytes) { decode(json, bytes.count); }
void decode(const Json& json, Rank& rank) { decode(json, rank.index); }

void decode(const Json& json, std::optional<Op>& op) {
    if (json != "none") decode(json, op.emplace());
}

void decode(const Json& json, std::optional<Rank>& root) {
    if (json != -1) decode(json, root.emplace());
}

void decode(const Json& json, TextByName& texts) {
    if (!json.is_object()) refuse(json, "object");
    for (const auto& [name, text] : json.items()) decode(text, texts[name]);
}

void decode(const Json& json, std::map<Rank, std::int64_t>& count_by_rank) {
    if (!json.is_object()) refuse(json, "object");
    for (const auto& [text, count] : json.items()) {
        Rank rank;
        decode(Json::parse(text, nullptr, /*allow_exceptions=*/false), rank);
        decode(count, count_by_rank[rank]);
    }
}

struct Reader {
    const Json& object;

    template <class Value>
    void must(const char* name, Value& value) {
        const auto field = object.find(name);
        if (field == object.end()) throw Error(fmt::format("no field \"{}\"", name));
        try {
            decode(*field, value);
        } catch (const Error& error) {
            throw Error(fmt::format("field \"{}\": {}", name, error.what()));
        }
    }
    template <class Value>
    void may(const char* name, Value& value, const Value& /*usual*/ = {}) {
        const auto field = object.find(name);
        if (field != object.end() && !field->is_null()) must(name, value);
    }
    void interval(const char* name, std::int64_t& lo, std::int64_t& hi) {
        std::vector<std::int64_t> ends;
        must(name, ends);
        if (ends.size() != 2) throw Error(fmt::format("field \"{}\" is no [lo,hi]", name));
        lo = ends[0];
        hi = ends[1];
    }
};

template <class Described>
void decode(const Json& json, Described& record) {
    if (!json.is_object()) refuse(json, "object");
    Reader reader{json};
    walk(reader, record);
}

template <class Value>
void decode(const Json& json, std::optional<Value>& value) {
    decode(json, value.emplace());
}

template <class Value>
void decode(const Json& json, std::vector<Value>& values) {
    if (!json.is_array()) refuse(json, "list");
    for (const Json& item : json) decode(item, values.emplace_back());
}

template <class Kind>
Record read_as(const Json& json) {
    Kind record;
    decode(json, record);
    return record;
}

struct KindReader {
    std::string_view kind;
    Record (*read)(const Json&);
};

constexpr KindReader kind_readers[] = {
    {"session", read_as<Session>},   {"launch", read_as<Launch>}, {"point", read_as<Point>},
    {"fail", read_as<Fail>},         {"end", read_as<End>},       {"limits", read_as<Limits>},
    {"step", read_as<TrainingStep>},
};

}  // namespace

Record parse_json_line(std::string_view line) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) throw NotJson("not JSON");
    if (!json.is_object() || !json.contains("v")) throw Error("not a tutti record (no \"v\")");
    if (json["v"] != schema_version)
        throw Error(fmt::format("written in schema version {}; this tutti reads version {}",
                                json["v"].dump(), schema_version));
    std::string kind;
    Reader{json}.must("kind", kind);
    for (const auto& row : kind_readers)
        if (row.kind == kind) return row.read(json);
    return std::monostate{};
}

}  // namespace tutti
