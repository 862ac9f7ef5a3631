// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/json_writer.hpp"
#include "base/name_table.hpp"

namespace tutti {

// schema_of() makes the JSON Schema (draft 2020-12) of the files that json_reader.hpp reads, from
// the same walk(). Unknown fields are allowed, as by the reader. Types with their own encode() and
// decode() define their own schema_of().

template <class Described>
Json schema_of(const Described& record);
template <class Value>
Json schema_of(const std::optional<Value>& value);
template <class Value>
Json schema_of(const std::vector<Value>& values);
template <class Value>
Json schema_of(const std::map<std::string, Value>& values);

inline Json schema_of_names(const auto& values) {
    Json names = Json::array();
    for (const auto value : values) names.push_back(name_of(value));
    return {{"enum", names}};
}

inline Json schema_of(const std::string&) { return {{"type", "string"}}; }
inline Json schema_of(Bytes bytes);
inline Json schema_of(Rank rank);
inline Json schema_of(Collective) { return schema_of_names(all_collectives()); }
inline Json schema_of(DataType) { return schema_of_names(all_data_types()); }
inline Json schema_of(Op) { return schema_of_names(all_ops()); }

inline Json schema_or_null(Json schema) { return {{"anyOf", {schema, {{"type", "null"}}}}}; }

/// Collects the fields of one object.
struct JsonSchema {
    Json properties = Json::object(), required = Json::array();

    template <class Value>
    void must(const char* name, const Value& value) {
        properties[name] = schema_of(value);
        required.push_back(name);
    }
    template <class Value>
    void may(const char* name, const Value& value, const std::type_identity_t<Value>& = {}) {
        properties[name] = schema_or_null(schema_of(value));
    }
    template <class Value>
    void always(const char* name, const Value& value) {
        properties[name] = schema_of(value);
    }
    void text(const char* name, const std::string& value) { always(name, value); }

    Json object() const {
        return {{"type", "object"}, {"properties", properties}, {"required", required}};
    }
};

template <class Described>
Json schema_of(const Described& record) {
    if constexpr (std::is_same_v<Described, bool>) {
        return {{"type", "boolean"}};
    } else if constexpr (std::is_integral_v<Described>) {
        return {{"type", "integer"},
                {"minimum", std::numeric_limits<Described>::min()},
                {"maximum", std::numeric_limits<Described>::max()}};
    } else if constexpr (std::is_floating_point_v<Described>) {
        return {{"type", "number"}};
    } else if constexpr (NamedEnum<Described>) {
        Json names = Json::array();
        for (const auto& row : NamesOf<Described>::rows) names.push_back(row.name);
        return {{"enum", names}};
    } else {
        JsonSchema schema;
        walk(schema, record);
        return schema.object();
    }
}

inline Json schema_of(Bytes bytes) { return schema_of(bytes.count); }
inline Json schema_of(Rank rank) { return schema_of(rank.index); }

template <class Value>
Json schema_of(const std::optional<Value>&) {
    return schema_or_null(schema_of(Value{}));
}

template <class Value>
Json schema_of(const std::vector<Value>&) {
    return {{"type", "array"}, {"items", schema_of(Value{})}};
}

template <class Value>
Json schema_of(const std::map<std::string, Value>&) {
    return {{"type", "object"}, {"additionalProperties", schema_of(Value{})}};
}

}  // namespace tutti
