// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/json_reader.hpp"

namespace tutti {

/// No count of elements is larger, so that no sum or product of sizes overflows.
constexpr std::int64_t most_elements = std::int64_t{1} << 40;

/// One object of a file, read by typed getters, which throw Error naming file and line. Holds
/// references to the value and the source.
class Fields {
public:
    /// Throws Error where `object` is none.
    Fields(const JsonValue& object, const Source& source);

    std::string place() const { return fmt::format("{}:{}", source_->name(), object_->line); }
    [[noreturn]] void refuse(const std::string& what) const { source_->fail(object_->line, what); }

    bool has(const char* name) const;  ///< and it is not null
    const JsonValue& at(const char* name) const { return path().needed(name).value(); }
    std::string text(const char* name, const std::string& otherwise = "") const;
    std::int64_t number(const char* name) const;
    std::int64_t number(const char* name, std::int64_t otherwise) const;
    /// Whole numbers from 0 to most_elements.
    std::int64_t count(const char* name) const;
    void require_count(const char* name, std::int64_t value) const;
    std::vector<std::int64_t> counts(const char* name) const;   ///< absent: none
    std::vector<std::int64_t> numbers(const char* name) const;  ///< absent: none
    /// Times are microseconds in files and nanoseconds here: points in time, and how long something
    /// took or was after the begin.
    std::int64_t ns(const char* name, std::int64_t otherwise) const;
    std::int64_t duration_ns(const char* name, std::int64_t otherwise = 0) const;
    std::vector<std::int64_t> durations_ns(const char* name) const;
    /// The objects of a list; absent: none.
    std::vector<Fields> objects(const char* name) const;
    Fields object(const char* name) const { return child(at(name)); }
    /// A value within this object.
    Fields child(const JsonValue& value) const { return {value, *source_}; }

private:
    JsonPlace path() const;

    const JsonValue* object_;
    const Source* source_;
};

/// Text by which numbers, texts and lists of them are distinguished.
std::string text_of(const JsonValue& value);

}  // namespace tutti
