// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "workloads/traces/trace_forms.hpp"

namespace tutti {
namespace {

constexpr JsonRules rules{.whole = "an entry of the trace"};

// Times since 1970 are possible: the difference of two fits a number.
std::int64_t ns_of(const JsonPlace& place) {
    const double us = place.number();
    if (std::abs(us) > 4e15) place.fail("is not a time in microseconds");
    return std::llround(us * 1000);
}

// The sum of thousands of durations fits a number.
std::int64_t duration_ns_of(const JsonPlace& place) {
    constexpr double longest_us = 1e12;  // 11 days
    const double us = place.number();
    if (us < 0) place.fail("is a negative time");
    if (us > longest_us) place.fail("is more than 11 days in microseconds");
    return std::llround(us * 1000);
}

}  // namespace

Fields::Fields(const JsonValue& object, const Source& source) : object_(&object), source_(&source) {
    path().object();
}

JsonPlace Fields::path() const { return {*object_, *source_, rules}; }

bool Fields::has(const char* name) const {
    const JsonValue* found = object_->find(name);
    return found && !found->is_null();
}

std::string Fields::text(const char* name, const std::string& default_value) const {
    return has(name) ? path().needed(name).text() : default_value;
}

std::int64_t Fields::number(const char* name) const {
    return path().needed(name).whole_number<std::int64_t>();
}

std::int64_t Fields::number(const char* name, std::int64_t default_value) const {
    return has(name) ? number(name) : default_value;
}

void Fields::require_count(const char* name, std::int64_t value) const {
    if (value < 0 || value > most_elements)
        refuse(fmt::format("'{}' has {}, which is not from 0 to {}", name, value, most_elements));
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
    const JsonPlace path = this->path();
    if (has(name)) decode(path.needed(name), values);
    return values;
}

std::int64_t Fields::ns(const char* name, std::int64_t default_value) const {
    return has(name) ? ns_of(path().needed(name)) : default_value;
}

std::int64_t Fields::duration_ns(const char* name, std::int64_t default_value) const {
    return has(name) ? duration_ns_of(path().needed(name)) : default_value;
}

std::vector<std::int64_t> Fields::durations_ns(const char* name) const {
    std::vector<std::int64_t> values;
    const JsonPlace path = this->path(), list = path.needed(name);
    for (std::size_t i = 0; i < list.list().size(); ++i)
        values.push_back(duration_ns_of(list.item(i)));
    return values;
}

std::vector<Fields> Fields::objects(const char* name) const {
    std::vector<Fields> all;
    if (!has(name)) return all;
    for (const JsonValue& one : path().needed(name).list()) all.push_back(child(one));
    return all;
}

std::string text_of(const JsonValue& value) {
    if (const auto* text = value.text()) return fmt::format("\"{}\"", *text);
    if (const auto* number = value.whole_number()) return std::to_string(*number);
    std::string all = "[";
    if (const auto* list = value.list())
        for (const JsonValue& one : *list) all += text_of(one) + ",";
    return all + "]";
}

}  // namespace tutti
