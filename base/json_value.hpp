// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/source.hpp"

namespace tutti {

struct JsonField;

/// A JSON value that knows its line; nested at most 32 deep.
struct JsonValue {
    using List = std::vector<JsonValue>;
    using Object = std::vector<JsonField>;

    int line = 0;
    std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, List, Object> value;

    const List* list() const { return std::get_if<List>(&value); }
    const Object* object() const { return std::get_if<Object>(&value); }

    /// None where this is no object or has no such field.
    const JsonValue* find(std::string_view field) const;
};

struct JsonField {
    std::string name;
    JsonValue value;
};

/// Throws Error through `source` for what is no JSON, has a field twice, or a number that fits
/// neither 64 bits nor a double.
JsonValue parse_json(const Source& source);

}  // namespace tutti
