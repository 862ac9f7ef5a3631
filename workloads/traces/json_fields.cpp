// SPDX-License-Identifier: Apache-2.0
#include "workloads/traces/json_fields.hpp"

#include <cmath>

#include "base/line_counter.hpp"

namespace tutti {
namespace {

using Json = nlohmann::json;

constexpr const char* line_of = "#line";

bool is_ns(const Json& us) { return us.is_number() && std::abs(us.get<double>()) < 9e15; }
std::int64_t ns_of(const Json& us) { return std::llround(us.get<double>() * 1000); }

}  // namespace

Json parse_with_lines(std::string_view text, const std::string& file, std::size_t first_line) {
    std::size_t line = first_line;
    std::vector<std::size_t> begun;
    const auto keep_line = [&](int, Json::parse_event_t event, Json& parsed) {
        if (event == Json::parse_event_t::object_start) begun.push_back(line);
        if (event == Json::parse_event_t::object_end) {
            parsed[line_of] = begun.back();
            begun.pop_back();
        }
        return true;
    };
    try {
        return Json::parse(LineCounter(text.data(), line),
                           LineCounter(text.data() + text.size(), line), keep_line);
    } catch (const Json::exception&) {
        throw Error(
            fmt::format("{}:{}: cut off, or no JSON: record or copy the trace again", file, line));
    }
}

Fields::Fields(const Json& object, const std::string& file, std::size_t outer)
    : object_(object), file_(file), line_(outer) {
    if (!object.is_object()) refuse("an object in braces belongs here");
    if (const auto at = object.find(line_of); at != object.end()) line_ = at->get<std::size_t>();
}

void Fields::refuse(const std::string& what) const {
    throw Error(fmt::format("{}:{}: {}", file_, line_, what));
}

bool Fields::has(const char* name) const {
    const auto at = object_.find(name);
    return at != object_.end() && !at->is_null();
}

const Json& Fields::at(const char* name) const {
    if (!has(name)) refuse(fmt::format("'{}' is missing", name));
    return object_.at(name);
}

std::string Fields::text(const char* name, const std::string& otherwise) const {
    if (!has(name)) return otherwise;
    if (!at(name).is_string()) refuse(fmt::format("'{}' is no text", name));
    return at(name).get<std::string>();
}

std::int64_t Fields::number(const char* name) const {
    if (!at(name).is_number_integer()) refuse(fmt::format("'{}' is no whole number", name));
    return at(name).get<std::int64_t>();
}

std::int64_t Fields::number(const char* name, std::int64_t otherwise) const {
    return has(name) ? number(name) : otherwise;
}

void Fields::require_count(const char* name, std::int64_t value) const {
    constexpr std::int64_t most = std::int64_t{1} << 40;
    if (value < 0 || value > most)
        refuse(fmt::format("'{}' has {}, which is not 0 to {}", name, value, most));
}

std::int64_t Fields::count(const char* name) const {
    require_count(name, number(name));
    return number(name);
}

std::vector<std::int64_t> Fields::counts(const char* name) const {
    auto values = numbers(name);
    for (const std::int64_t value : values) require_count(name, value);
    return values;
}

std::vector<std::int64_t> Fields::numbers(const char* name) const {
    std::vector<std::int64_t> values;
    if (!has(name)) return values;
    if (!at(name).is_array()) refuse(fmt::format("'{}' is no list", name));
    for (const Json& one : at(name)) {
        if (!one.is_number_integer()) refuse(fmt::format("'{}' has what is no whole number", name));
        values.push_back(one.get<std::int64_t>());
    }
    return values;
}

std::int64_t Fields::ns(const char* name, std::int64_t otherwise) const {
    if (!has(name)) return otherwise;
    if (!is_ns(at(name))) refuse(fmt::format("'{}' is no time in microseconds", name));
    return ns_of(at(name));
}

std::vector<std::int64_t> Fields::list_of_ns(const char* name) const {
    std::vector<std::int64_t> values;
    if (!at(name).is_array()) refuse(fmt::format("'{}' is no list", name));
    for (const Json& one : at(name)) {
        if (!is_ns(one)) refuse(fmt::format("'{}' has what is no time in microseconds", name));
        values.push_back(ns_of(one));
    }
    return values;
}

std::vector<Fields> Fields::objects(const char* name) const {
    std::vector<Fields> all;
    if (!has(name)) return all;
    if (!at(name).is_array()) refuse(fmt::format("'{}' is no list", name));
    for (const Json& one : at(name)) all.emplace_back(one, file_, line_);
    return all;
}

Fields Fields::object(const char* name) const { return {at(name), file_, line_}; }

}  // namespace tutti
