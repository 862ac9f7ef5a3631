// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "workloads/traces/trace_forms.hpp"

namespace tutti {
namespace {

// Which list of the document the lines of a name make.
const std::map<std::string, const char*> list_of = {
    {"parameter", "params"}, {"bucket", "buckets"},       {"buffer", "buffers_broadcast"},
    {"group", "groups"},     {"iteration", "iterations"}, {"op", "ops"},
};

// A field of the object, an empty list where there was none.
JsonValue& field_of(JsonValue& object, std::string_view name) {
    auto& fields = std::get<JsonValue::Object>(object.value);
    for (JsonField& field : fields)
        if (field.name == name) return field.value;
    return fields.emplace_back(JsonField{std::string(name), {object.line, JsonValue::List{}}})
        .value;
}

}  // namespace

JsonValue joined_lines(std::string_view text, const Source& source) {
    JsonValue document;
    int number = 0;
    bool is_over = false;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        ++number;
        JsonValue json = parse_json(line, source, number);
        if (number == 1) {
            document = std::move(json);
            continue;
        }
        const Fields fields(json, source);
        const std::string name = fields.text("line");
        if (is_over) fields.refuse("nothing follows the end line");
        if (name == "end") {
            if (fields.number("lines") != number)
                fields.refuse(fmt::format("lines are missing: this is line {} of what were {}",
                                          number, fields.number("lines")));
            is_over = true;
            continue;
        }
        const auto list = list_of.find(name);
        if (list == list_of.end())
            fields.refuse(
                fmt::format("'line' is '{}', which is none of parameter, bucket, buffer, "
                            "group, iteration, op, end",
                            name));
        JsonValue& items = field_of(document, list->second);
        if (!items.list()) fields.refuse("the first line has no place for it");
        std::get<JsonValue::List>(items.value).push_back(std::move(json));
    }
    if (!is_over)
        source.fail(number, "cut off: no end line follows; record or copy the trace again");
    return document;
}

}  // namespace tutti
