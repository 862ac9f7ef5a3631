// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// One value and its name in options and result files.
template <class Value>
struct Named {
    Value value;
    std::string_view name;
};

/// Returns the name closest to `typed` (fewest edits), or none if none is close.
std::optional<std::string> closest_name(std::string_view typed, std::span<const std::string> names);

/// Returns the error line "unknown KIND 'typed'; did you mean 'x'? Known: a b c".
std::string unknown_name(std::string_view kind, std::string_view typed,
                         std::span<const std::string> names);

template <class Value, std::size_t size>
std::vector<std::string> names_of(const Named<Value> (&table)[size]) {
    std::vector<std::string> names;
    for (const auto& row : table) names.emplace_back(row.name);
    return names;
}

template <class Value, std::size_t size>
std::string_view name_in(const Named<Value> (&table)[size], Value value) {
    for (const auto& row : table)
        if (row.value == value) return row.name;
    return "?";
}

/// Returns null if no row has the name.
template <class Value, std::size_t size>
const Named<Value>* find_in(const Named<Value> (&table)[size], std::string_view name) {
    for (const auto& row : table)
        if (row.name == name) return &row;
    return nullptr;
}

/// Returns the row with this `name` member. Throws Error with unknown_name(), which lists the names
/// of `more` before the table's.
const auto& find_row(const auto& table, std::string_view kind, std::string_view name,
                     std::vector<std::string> more = {}) {
    for (const auto& row : table) {
        if (row.name == name) return row;
        more.emplace_back(row.name);
    }
    throw Error(unknown_name(kind, name, more));
}

/// Throws Error with unknown_name().
template <class Value, std::size_t size>
Value parse_from(const Named<Value> (&table)[size], std::string_view kind, std::string_view name) {
    if (const auto* row = find_in(table, name)) return row->value;
    throw Error(unknown_name(kind, name, names_of(table)));
}

/// The names of an enumeration. Specialise it next to the enumeration with `kind` (its name in
/// errors) and `rows` of Named.
template <class Enum>
struct NamesOf;

template <class Enum>
concept NamedEnum = requires {
    NamesOf<Enum>::rows;
};

std::string_view name_of(NamedEnum auto value) {
    return name_in(NamesOf<decltype(value)>::rows, value);
}

/// Throws Error with unknown_name().
template <NamedEnum Enum>
Enum parse_as(std::string_view name) {
    return parse_from(NamesOf<Enum>::rows, NamesOf<Enum>::kind, name);
}
void parse_name(std::string_view name, NamedEnum auto& value) {
    value = parse_as<std::remove_reference_t<decltype(value)>>(name);
}

}  // namespace tutti
#pragma GCC visibility pop
