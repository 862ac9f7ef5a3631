// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string_view>

#include "autotune/table/table_fields.hpp"
#include "autotune/table/table_json.hpp"

namespace tutti {
namespace {

// What is between the brackets, each item with what comes before it.
template <class Put>
void print_items(const Json& json, std::string_view before, std::string_view between,
                 std::string& text, Put put) {
    bool first = true;
    for (const auto& [name, value] : json.items()) {
        text += first ? before : between;
        first = false;
        if (json.is_object()) text.append(one_line(name)).append(": ");
        put(value);
    }
}

void print_on_one_line(const Json& json, std::string& text) {
    if (!json.is_structured()) {
        text += one_line(json);
        return;
    }
    text += json.is_array() ? '[' : '{';
    print_items(json, "", ", ", text, [&](const Json& value) { print_on_one_line(value, text); });
    text += json.is_array() ? ']' : '}';
}

// What fits on a line is on one: a time with its interval, or a choice, is read at a glance.
void print(const Json& json, std::size_t indent, std::string& text) {
    constexpr std::size_t width = 110;
    std::string line;
    print_on_one_line(json, line);
    if (indent + line.size() <= width || !json.is_structured()) {
        text += line;
        return;
    }
    const std::string outer = fmt::format("\n{:{}}", "", indent);
    const std::string inner = fmt::format("{}  ", outer);
    text += json.is_array() ? '[' : '{';
    print_items(json, inner, fmt::format(",{}", inner), text,
                [&](const Json& value) { print(value, indent + 2, text); });
    text += outer;
    text += json.is_array() ? ']' : '}';
}

}  // namespace

std::string to_json(const Table& table) {
    JsonWriter writer{.object = {{"format", "tutti-table"}, {"version", Table::version}}};
    walk(writer, table);
    std::string text;
    print(writer.object, 0, text);
    return text + "\n";
}

}  // namespace tutti
