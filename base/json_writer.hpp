// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/index.hpp"
#include "base/json_value.hpp"
#include "base/types.hpp"
#include "base/units.hpp"

namespace tutti {

using Json = nlohmann::ordered_json;  // fields keep their order

// encode() makes JSON from a value: records by their walk() (see Is in json_value.hpp),
// enumerations by their name_of(). Other types define their own encode().

template <class Described>
Json encode(const Described& record);
template <class Value>
Json encode(const std::optional<Value>& value);
template <class Value>
Json encode(const std::vector<Value>& values);
template <class Value>
Json encode(const std::map<std::string, Value>& values);

inline Json encode(const std::string& text) { return text; }
inline Json encode(Bytes bytes) { return bytes.count; }
inline Json encode(Rank rank) { return rank.index; }
inline Json encode(std::span<const double> numbers) {
    return Json(std::vector<double>(numbers.begin(), numbers.end()));
}

/// Writes the fields of one object.
struct JsonWriter {
    Json object = Json::object();

    template <class Value>
    void must(const char* name, const Value& value) {
        object[name] = encode(value);
    }
    template <class Value>
    void may(const char* name, const Value& value,
             const std::type_identity_t<Value>& default_value = {}) {
        if (value != default_value) must(name, value);
    }
    template <class Value>
    void always(const char* name, const Value& value) {
        must(name, value);
    }
    void text(const char* name, const std::string& value) { may(name, value); }
};

template <class Described>
Json encode(const Described& record) {
    if constexpr (std::is_arithmetic_v<Described>) {
        return record;
    } else if constexpr (std::is_enum_v<Described>) {
        return std::string(name_of(record));
    } else {
        JsonWriter writer;
        walk(writer, record);
        return std::move(writer.object);
    }
}

template <class Value>
Json encode(const std::optional<Value>& value) {
    return value ? encode(*value) : Json();
}

template <class Value>
Json encode(const std::vector<Value>& values) {
    Json list = Json::array();
    for (const Value& value : values) list.push_back(encode(value));
    return list;
}

template <class Value>
Json encode(const std::map<std::string, Value>& values) {
    Json object = Json::object();
    for (const auto& [name, value] : values) object[name] = encode(value);
    return object;
}

/// Prints JSON on one line, without a newline. Invalid UTF-8 (texts come from outside) is replaced.
inline std::string one_line(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tutti
