// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "base/json_value.hpp"
#include "base/types.hpp"
#include "base/units.hpp"

namespace tutti {

class JsonPlace;

/// Rules for reading one kind of file.
struct JsonRules {
    enum class Numbers { any, from_0 };
    enum class UnknownFields { ignored, refused };
    enum class Texts { any, names };

    template <std::integral Number>
    Number least() const {
        return numbers == Numbers::from_0 ? Number{0} : std::numeric_limits<Number>::min();
    }

    std::string_view whole = "the file";  ///< name of the outermost value in errors
    std::string_view remedy = "";         ///< end of error messages: what to do
    Numbers numbers = Numbers::any;
    UnknownFields unknown_fields = UnknownFields::ignored;
    Texts texts = Texts::any;  ///< see JsonPlace::name
    /// Largest signed whole number, except for sizes; the smallest is its negative.
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

/// A value with the path to it ("sections[0].ranges[2].from") for errors: "FILE:LINE: 'PATH' is not
/// ...". Refers to its parent place, the source and the rules, which have to outlive it.
class JsonPlace {
public:
    JsonPlace(const JsonValue& whole, const Source& source, const JsonRules& rules)
        : value_(&whole), source_(&source), rules_(&rules) {}

    const JsonValue& value() const { return *value_; }
    const JsonRules& rules() const { return *rules_; }

    /// Throws Error "FILE:LINE: 'PATH' WHAT", and the remedy.
    [[noreturn]] void fail(std::string_view what) const;
    /// Throws Error "FILE:LINE: 'PATH': WHAT", without the remedy.
    [[noreturn]] void fail_as(std::string_view what) const;

    /// Returns the field of an object; none if it does not exist.
    std::optional<JsonPlace> field(std::string_view name) const;
    /// Returns the field of an object; throws Error if it does not exist.
    JsonPlace needed(std::string_view name) const;
    JsonPlace child(const JsonField& field) const;
    /// Returns the item of a list, which has to exist.
    JsonPlace item(std::size_t index) const;

    // Return the value; throw Error if it has another type.
    const JsonValue::Object& object() const;
    const JsonValue::List& list() const;
    const std::string& text() const;
    /// A text to be printed: short and without control characters.
    const std::string& name() const;
    double number() const;
    bool yes() const;
    template <std::integral Number>
    Number whole_number(Number least = std::numeric_limits<Number>::min(),
                        Number most = std::numeric_limits<Number>::max()) const {
        if (const auto* number = std::get_if<std::int64_t>(&value_->value);
            number && std::cmp_greater_equal(*number, least) && std::cmp_less_equal(*number, most))
            return static_cast<Number>(*number);
        if (const auto* number = std::get_if<std::uint64_t>(&value_->value);
            number && std::cmp_less_equal(*number, most))
            return static_cast<Number>(*number);
        fail_number(std::to_string(least), std::to_string(most));
    }

private:
    JsonPlace(const JsonValue& value, const JsonPlace& parent, std::string_view name,
              std::size_t index)
        : value_(&value),
          source_(parent.source_),
          rules_(parent.rules_),
          parent_(&parent),
          name_(name),
          index_(index) {}

    [[noreturn]] void fail_number(const std::string& least, const std::string& most) const;
    std::string path() const;
    std::string quoted_path() const;

    const JsonValue* value_;
    const Source* source_;
    const JsonRules* rules_;
    const JsonPlace* parent_ = nullptr;
    std::string_view name_ = {};
    std::size_t index_ = 0;
};

// decode() reads a value from JSON: records by their walk() (see Is in json_value.hpp),
// enumerations by parse_name(text, value). Other types define their own decode(). A type may also
// define check(value, place), which is called after it is read.

template <class Described>
void decode(const JsonPlace& place, Described& record);
template <class Value>
void decode(const JsonPlace& place, std::optional<Value>& value);
template <class Value>
void decode(const JsonPlace& place, std::vector<Value>& values);
template <class Value>
void decode(const JsonPlace& place, std::map<std::string, Value>& values);

inline void parse_name(std::string_view name, Collective& c) { c = parse_collective(name); }
inline void parse_name(std::string_view name, DataType& type) { type = parse_data_type(name); }
inline void parse_name(std::string_view name, Op& op) { op = parse_op(name); }

template <std::integral Value>
void decode(const JsonPlace& place, Value& value) {
    Value least = place.rules().least<Value>(), most = std::numeric_limits<Value>::max();
    if constexpr (std::signed_integral<Value>) {
        least = static_cast<Value>(std::max<std::int64_t>(least, -place.rules().most));
        most = static_cast<Value>(std::min<std::int64_t>(most, place.rules().most));
    }
    value = place.whole_number<Value>(least, most);
}

inline void decode(const JsonPlace& place, bool& value) { value = place.yes(); }
inline void decode(const JsonPlace& place, double& value) { value = place.number(); }
inline void decode(const JsonPlace& place, Bytes& bytes) {
    bytes.count = place.whole_number(place.rules().least<std::int64_t>());
}
inline void decode(const JsonPlace& place, Rank& rank) { decode(place, rank.index); }

inline void decode(const JsonPlace& place, std::string& text) {
    text = place.rules().texts == JsonRules::Texts::names ? place.name() : place.text();
}

/// Reads a list of exactly numbers.size() numbers.
void decode(const JsonPlace& place, std::span<double> numbers);

/// Reads the fields of one object; see Is.
class JsonReader {
public:
    explicit JsonReader(const JsonPlace& object) : object_(object) { object.object(); }

    template <class Value>
    void must(std::string_view name, Value&& value) {
        decode(known(name) ? *field_ : object_.needed(name), value);
    }
    template <class Value>
    void may(std::string_view name, Value& value,
             const std::type_identity_t<Value>& default_value = {}) {
        if (known(name) && !field_->value().is_null())
            decode(*field_, value);
        else
            value = default_value;
    }
    template <class Value>
    void always(std::string_view name, Value& value) {
        if (known(name)) decode(*field_, value);
    }
    /// Reads a text in another format, which may have control characters.
    void text(std::string_view name, std::string& value) {
        value = known(name) ? field_->text() : "";
    }

    /// Call it after the walk. Throws Error for a field that was not visited.
    void refuse_others() const;

private:
    bool known(std::string_view name) {
        if (object_.rules().unknown_fields == JsonRules::UnknownFields::refused)
            known_.push_back(name);
        field_ = object_.field(name);
        return field_.has_value();
    }

    const JsonPlace& object_;
    std::optional<JsonPlace> field_;
    std::vector<std::string_view> known_;
};

template <class Described>
void decode(const JsonPlace& place, Described& record) {
    if constexpr (std::is_enum_v<Described>) {
        const std::string& name = place.name();
        try {
            parse_name(name, record);
        } catch (const Error& error) {
            place.fail_as(error.what());
        }
    } else {
        JsonReader reader(place);
        walk(reader, record);
        reader.refuse_others();
        if constexpr (requires { check(record, place); }) check(record, place);
    }
}

template <class Value>
void decode(const JsonPlace& place, std::optional<Value>& value) {
    if (place.value().is_null())
        value.reset();
    else
        decode(place, value.emplace());
}

template <class Value>
void decode(const JsonPlace& place, std::vector<Value>& values) {
    const std::size_t size = place.list().size();
    values.resize(size);
    for (std::size_t i = 0; i < size; ++i) decode(place.item(i), values[i]);
}

template <class Value>
void decode(const JsonPlace& place, std::map<std::string, Value>& values) {
    for (const JsonField& field : place.object()) decode(place.child(field), values[field.name]);
}

}  // namespace tutti
