// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>

#include "autotune/table/table_fields.hpp"
#include "autotune/table/table_json.hpp"

namespace tutti {
namespace {

using Json = nlohmann::ordered_json;

template <class Part>
Json json_of(Part& part);

Json json_of(std::string& text) { return text; }
Json json_of(std::int64_t& number) { return number; }
Json json_of(int& number) { return number; }
Json json_of(double& number) { return number; }
Json json_of(bool& yes) { return yes; }
Json json_of(Bytes& bytes) { return bytes.count; }

template <class Part>
Json json_of(std::optional<Part>& part) {
    return json_of(*part);  // none is usual, and left out
}

template <class Part>
Json json_of(std::vector<Part>& parts) {
    Json list = Json::array();
    for (Part& part : parts) list.push_back(json_of(part));
    return list;
}

struct Writer {
    Json object = Json::object();

    template <class Part>
    void needed(const char* field, Part& part) {
        object[field] = json_of(part);
    }

    template <class Part>
    void usual(const char* field, Part& part, const std::type_identity_t<Part>& otherwise) {
        if (part != otherwise) needed(field, part);
    }

    void text(const char* field, std::string& part) { usual(field, part, ""); }
};

template <class Part>
Json json_of(Part& part) {
    if constexpr (std::is_enum_v<Part>) {
        return name_of(part);
    } else {
        Writer writer;
        visit_fields(writer, part);
        return std::move(writer.object);
    }
}

// Names come from outside: bytes that are no UTF-8 are replaced rather than refused.
std::string bare(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// What is between the brackets, each item with what comes before it.
template <class Put>
void print_items(const Json& json, std::string_view before, std::string_view between,
                 std::string& text, Put put) {
    bool first = true;
    for (const auto& [name, value] : json.items()) {
        text += first ? before : between;
        first = false;
        if (json.is_object()) text.append(bare(name)).append(": ");
        put(value);
    }
}

void print_on_one_line(const Json& json, std::string& text) {
    if (!json.is_structured()) {
        text += bare(json);
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
    Writer writer;
    writer.object = {{"format", "tutti-table"}, {"version", Table::version}};
    Table fields = table;  // a visitor may write; this one does not
    visit_fields(writer, fields);
    std::string text;
    print(writer.object, 0, text);
    return text + "\n";
}

}  // namespace tutti
