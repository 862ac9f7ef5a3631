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

}  // namespace

nlohmann::json joined_lines(std::string_view text, const std::string& file) {
    nlohmann::json document;
    std::size_t number = 0;
    bool is_over = false;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        ++number;
        auto json = parse_with_lines(line, file, number);
        if (number == 1) {
            document = std::move(json);
            continue;
        }
        const Fields fields(json, file, number);
        const std::string name = fields.text("line");
        if (is_over) fields.refuse("nothing follows the end line");
        if (name == "end") {
            if (fields.number("lines") != static_cast<std::int64_t>(number))
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
        document[list->second].push_back(std::move(json));
    }
    if (!is_over)
        throw Error(fmt::format(
            "{}:{}: cut off: no end line follows; record or copy the trace again", file, number));
    return document;
}

}  // namespace tutti
