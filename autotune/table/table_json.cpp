// SPDX-License-Identifier: Apache-2.0
#include "autotune/table/table_json.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "autotune/table/table_fields.hpp"
#include "base/output.hpp"

namespace tutti {
namespace {

constexpr JsonRules rules{.remedy = remedy, .texts = JsonRules::Texts::names};

void check_format(const Source& source, const JsonValue& json) {
    const JsonValue* format = json.find("format");
    const auto* name = format ? format->text() : nullptr;
    if (!name || *name != "tutti-table")
        source.fail(json.line,
                    "no table: there is no \"format\": \"tutti-table\"; give a file that "
                    "`tutti tune` wrote");
    const JsonValue* field = json.find("version");
    const auto* version = field ? field->whole_number() : nullptr;
    if (!version || *version < 1)
        source.fail(field ? field->line : json.line,
                    fmt::format("'version' is not a whole number from 1 upwards{}", remedy));
    if (*version > Table::version)
        source.fail(field->line, fmt::format("made by a newer tutti, in version {} of the format; "
                                             "this one reads version {}: take the newer tutti, or "
                                             "write the table anew: tutti tune",
                                             *version, Table::version));
}

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

Table parse_table(std::string_view text, std::string_view name) {
    const Source source(text, name);
    const JsonValue json = parse_json(source);
    check_format(source, json);
    Table table;
    decode(JsonPlace(json, source, rules), table);
    return table;
}

Table read_table(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream || std::filesystem::is_directory(path))
        throw Error(fmt::format("cannot read the table '{}'; type: tutti tune --table FILE",
                                path.string()));
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    if (text.find_first_not_of(" \t\r\n") == text.npos) return {};
    return parse_table(text, path.string());
}

Table read_choices(const std::filesystem::path& path) {
    Table table = read_table(path);
    if (table.sections.empty())
        throw Error(
            fmt::format("the tuning table '{0}' has no entries (was 'tutti tune' interrupted?); "
                        "run: tutti tune --table {0}",
                        path.string()));
    return table;
}

void keep_table(const Table& table, const std::filesystem::path& path) {
    const std::string text = to_json(table);
    parse_table(text, path.string());
    replace_file(path, text, "the table");
}

}  // namespace tutti
