// SPDX-License-Identifier: Apache-2.0
#include "base/json_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tutti {

void JsonPlace::fail(std::string_view what) const {
    source_->fail(value_->line, fmt::format("{} {}{}", quoted_path(), what, rules_->remedy));
}

void JsonPlace::fail_as(std::string_view what) const {
    source_->fail(value_->line, fmt::format("{}: {}", quoted_path(), what));
}

void JsonPlace::fail_number(const std::string& least, const std::string& most) const {
    fail(fmt::format("is not a whole number from {} to {}", least, most));
}

std::optional<JsonPlace> JsonPlace::field(std::string_view name) const {
    const JsonValue* found = value_->find(name);
    if (!found) return std::nullopt;
    return JsonPlace(*found, *this, name, 0);
}

JsonPlace JsonPlace::needed(std::string_view name) const {
    object();
    if (const auto found = field(name)) return *found;
    fail(fmt::format("lacks the field '{}'", name));
}

JsonPlace JsonPlace::child(const JsonField& field) const {
    return {field.value, *this, field.name, 0};
}

JsonPlace JsonPlace::item(std::size_t index) const { return {list()[index], *this, {}, index}; }

const JsonValue::Object& JsonPlace::object() const {
    if (const auto* object = value_->object()) return *object;
    fail("is not an object {...}");
}

const JsonValue::List& JsonPlace::list() const {
    if (const auto* list = value_->list()) return *list;
    fail("is not a list [...]");
}

const std::string& JsonPlace::text() const {
    if (const auto* text = value_->text()) return *text;
    fail("is not a string \"...\"");
}

const std::string& JsonPlace::name() const {
    constexpr std::size_t longest = 200;
    const std::string& name = text();
    if (name.size() > longest) fail(fmt::format("is longer than {} characters", longest));
    if (printable(name) != name) fail("contains control characters");
    return name;
}

double JsonPlace::number() const {
    const auto as_double = [&] {
        if (const auto* whole = value_->whole_number()) return static_cast<double>(*whole);
        if (const auto* large = std::get_if<std::uint64_t>(&value_->value))
            return static_cast<double>(*large);
        if (const auto* real = std::get_if<double>(&value_->value)) return *real;
        fail("is not a number");
    };
    const double number = as_double();
    if (number < 0 && rules_->numbers == JsonRules::Numbers::from_0) fail("is not a number >= 0");
    return number;
}

bool JsonPlace::yes() const {
    if (const auto* yes = std::get_if<bool>(&value_->value)) return *yes;
    fail("is neither true nor false");
}

std::string JsonPlace::path() const {
    if (!parent_) return "";
    const std::string before = parent_->path();
    if (parent_->value_->list()) return fmt::format("{}[{}]", before, index_);
    return fmt::format("{}{}{}", before, before.empty() ? "" : ".", name_);
}

std::string JsonPlace::quoted_path() const {
    const std::string path = this->path();
    return path.empty() ? std::string(rules_->whole) : in_quotes(path, 200);
}

void decode(const JsonPlace& place, std::span<double> numbers) {
    const std::size_t size = place.list().size();
    if (size != numbers.size())
        place.fail(fmt::format("has {} numbers, not {}", size, numbers.size()));
    for (std::size_t i = 0; i < size; ++i) decode(place.item(i), numbers[i]);
}

void JsonReader::refuse_others() const {
    if (object_.rules().unknown_fields == JsonRules::UnknownFields::ignored) return;
    for (const JsonField& field : object_.object())
        if (std::ranges::find(known_, field.name) == known_.end())
            object_.child(field).fail(
                fmt::format("is an unknown field; known here: {}", fmt::join(known_, " ")));
}

}  // namespace tutti
