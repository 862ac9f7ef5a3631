// SPDX-License-Identifier: Apache-2.0
#include "base/json_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace tutti {
namespace {

// Iterates over a text for the parser and counts lines. A new line begins when the first character
// after the line end is read, as the parser reads one character past a number before it reports it.
class LineCounter {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    LineCounter(const char* at, int& line) : at_(at), line_(&line) {}
    reference operator*() const { return *at_; }
    LineCounter& operator++() {
        if (at_line_end_) ++*line_;
        at_line_end_ = *at_++ == '\n';
        return *this;
    }
    LineCounter operator++(int) {
        const LineCounter before = *this;
        ++*this;
        return before;
    }
    bool operator==(const LineCounter& other) const { return at_ == other.at_; }

private:
    const char* at_;
    int* line_;
    bool at_line_end_ = false;
};

// Builds the value from the events of nlohmann's SAX parser.
class Builder final {
public:
    using number_unsigned_t = nlohmann::json::number_unsigned_t;

    Builder(const Source& source, const int& line) : source_(source), line_(line) {}

    JsonValue result() { return std::move(root_); }

    bool null() { return put(nullptr); }
    bool boolean(bool value) { return put(value); }
    bool number_integer(std::int64_t value) { return put(value); }
    bool number_unsigned(number_unsigned_t value) {
        if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
            return put(std::uint64_t{value});
        return put(static_cast<std::int64_t>(value));
    }
    bool number_float(double value, const std::string&) { return put(value); }
    bool string(std::string& value) { return put(std::move(value)); }
    bool binary(nlohmann::json::binary_t&) { return false; }  // not in text
    bool start_object(std::size_t) { return open(JsonValue::Object{}); }
    bool start_array(std::size_t) { return open(JsonValue::List{}); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }

    bool key(std::string& name) {
        if (is_there(open_.back(), name))
            source_.fail(line_, fmt::format("the field {} appears twice", in_quotes(name)));
        key_ = std::move(name);
        return true;
    }

    bool parse_error(std::size_t, const std::string& token,
                     const nlohmann::json::exception& error) {
        if (error.id == 406)
            source_.fail(line_, "the number " + in_quotes(token) + " is too large");
        throw NotJson(source_.at(line_, "invalid JSON" +
                                            (token.empty() ? "" : " at " + in_quotes(token)) +
                                            "; use the complete, unedited file"));
    }

private:
    struct Open {
        JsonValue* value;
        std::set<std::string, std::less<>> names;  // only for large objects
    };

    static bool is_there(Open& open, const std::string& name) {
        constexpr std::size_t large = 64;
        const auto& fields = *open.value->object();
        if (fields.size() < large) return open.value->find(name) != nullptr;
        if (open.names.empty())
            for (const JsonField& field : fields) open.names.insert(field.name);
        return !open.names.insert(name).second;
    }

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
        constexpr std::size_t deepest = 64;
        if (open_.size() == deepest)
            source_.fail(line_, fmt::format("nested more than {} levels deep", deepest));
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

JsonValue parse_json(const Source& source) { return parse_json(source.text(), source, 1); }

JsonValue parse_json(std::string_view text, const Source& source, int number) {
    int line = number;
    Builder builder(source, line);
    nlohmann::json::sax_parse(LineCounter(text.data(), line),
                              LineCounter(text.data() + text.size(), line), &builder);
    return builder.result();
}

}  // namespace tutti
