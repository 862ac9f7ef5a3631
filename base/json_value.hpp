// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/source.hpp"

namespace tutti {

struct JsonField;

/// A parsed JSON value with its line. Whole numbers are std::int64_t, or std::uint64_t if larger.
struct JsonValue {
    using List = std::vector<JsonValue>;
    using Object = std::vector<JsonField>;

    int line = 0;
    std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, List,
                 Object>
        value;

    const std::string* text() const { return std::get_if<std::string>(&value); }
    const std::int64_t* whole_number() const { return std::get_if<std::int64_t>(&value); }
    const List* list() const { return std::get_if<List>(&value); }
    const Object* object() const { return std::get_if<Object>(&value); }
    bool is_null() const { return std::holds_alternative<std::nullptr_t>(value); }

    /// Returns null if this is not an object or has no such field.
    const JsonValue* find(std::string_view field) const;
};

struct JsonField {
    std::string name;
    JsonValue value;
};

/// The text is not JSON, for example a line that was cut while it was written.
class NotJson : public Error {
public:
    using Error::Error;
};

/// Throws NotJson for invalid JSON, and Error for a repeated field, a number that fits neither 64
/// bits nor a double, and more than 64 levels; each with file and line.
JsonValue parse_json(const Source& source);

/// Parses one line of JSON Lines: line `number` of the source.
JsonValue parse_json(std::string_view text, const Source& source, int number);

/// `Wanted`, const for writing or mutable for reading. The fields of a type are listed once for
/// both directions, by a function that json_reader.hpp and json_writer.hpp call:
///
///     void walk(auto& f, Is<Probe> auto& probe) {
///         f.must("name", probe.name);             // always present
///         f.may("count", probe.count, 1);         // left out if it is 1 (without a default: {})
///         f.always("link", probe.link);           // always written, may be missing when read
///     }
template <class T, class Wanted>
concept Is = std::same_as<std::remove_const_t<T>, Wanted>;

}  // namespace tutti
