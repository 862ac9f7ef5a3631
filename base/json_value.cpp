// SPDX-License-Identifier: Apache-2.0
#include "base/json_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/line_counter.hpp"

namespace tutti {
namespace {

// Told by nlohmann's parser what it meets, in order.
class Builder : public nlohmann::json_sax<nlohmann::json> {
public:
    Builder(const Source& source, const int& line) : source_(source), line_(line) {}

    JsonValue result() { return std::move(root_); }

    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(number_integer_t value) override { return put(std::int64_t{value}); }
    bool number_unsigned(number_unsigned_t value) override {
        if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
            source_.fail(line_, fmt::format("the number {} is too large", value));
        return put(static_cast<std::int64_t>(value));
    }
    bool number_float(number_float_t value, const string_t&) override { return put(value); }
    bool string(string_t& value) override { return put(std::move(value)); }
    bool binary(binary_t&) override { return false; }  // there is none in text
    bool start_object(std::size_t) override { return open(JsonValue::Object{}); }
    bool start_array(std::size_t) override { return open(JsonValue::List{}); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(string_t& name) override {
        if (!open_.back().seen.insert(name).second)
            source_.fail(line_, fmt::format("the field {} is there twice", in_quotes(name)));
        key_ = std::move(name);
        return true;
    }

    bool parse_error(std::size_t, const std::string& token,
                     const nlohmann::json::exception& error) override {
        if (error.id == 406)
            source_.fail(line_, "the number " + in_quotes(token) + " is too large");
        source_.fail(line_, "no well-formed JSON" +
                                (token.empty() ? "" : " at " + in_quotes(token)) +
                                "; give the whole file as it was written");
    }

private:
    struct Open {
        JsonValue* value;
        std::set<std::string> seen;
    };

    JsonValue& add(JsonValue value) {
        if (open_.empty()) return root_ = std::move(value);
        JsonValue& parent = *open_.back().value;
        if (auto* list = std::get_if<JsonValue::List>(&parent.value))
            return list->emplace_back(std::move(value));
        auto& object = std::get<JsonValue::Object>(parent.value);
        return object.emplace_back(JsonField{std::move(key_), std::move(value)}).value;
    }

    template <class Value>
    bool put(Value value) {
        add({line_, std::move(value)});
        return true;
    }

    template <class Value>
    bool open(Value value) {
        constexpr std::size_t deepest = 32;
        if (open_.size() == deepest) source_.fail(line_, "nested deeper than any machine");
        JsonValue& added = add({line_, std::move(value)});
        open_.push_back({&added, {}});
        return true;
    }

    bool close() {
        open_.pop_back();
        return true;
    }

    const Source& source_;
    const int& line_;
    JsonValue root_;
    std::vector<Open> open_;
    std::string key_;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view field) const {
    if (!object()) return nullptr;
    const auto found = std::ranges::find(*object(), field, &JsonField::name);
    return found == object()->end() ? nullptr : &found->value;
}

JsonValue parse_json(const Source& source) {
    const std::string_view text = source.text();
    int line = 1;
    Builder builder(source, line);
    nlohmann::json::sax_parse(LineCounter(text.data(), line),
                              LineCounter(text.data() + text.size(), line), &builder);
    return builder.result();
}

}  // namespace tutti
