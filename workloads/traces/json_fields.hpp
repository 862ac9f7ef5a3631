// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace tutti {

/// Parses a text whose objects then know their line, for what is told of them. The first line has
/// number `first_line`. Throws Error naming file and line.
nlohmann::json parse_with_lines(std::string_view text, const std::string& file,
                                std::size_t first_line = 1);

/// One object of a file, read by typed getters, which throw Error naming file and line.
class Fields {
public:
    /// Throws Error where `object` is none; `outer` then tells the line.
    Fields(const nlohmann::json& object, const std::string& file, std::size_t outer = 1);

    std::size_t line() const { return line_; }
    std::string place() const { return fmt::format("{}:{}", file_, line_); }
    [[noreturn]] void refuse(const std::string& what) const;

    bool has(const char* name) const;  ///< and it is not null
    const nlohmann::json& at(const char* name) const;
    std::string text(const char* name, const std::string& otherwise = "") const;
    std::int64_t number(const char* name) const;
    std::int64_t number(const char* name, std::int64_t otherwise) const;
    /// Whole numbers of at least 0 that no sum or product of sizes overflows.
    std::int64_t count(const char* name) const;
    std::vector<std::int64_t> counts(const char* name) const;   ///< absent: none
    std::vector<std::int64_t> numbers(const char* name) const;  ///< absent: none
    /// Times are microseconds in files and nanoseconds here.
    std::int64_t ns(const char* name, std::int64_t otherwise) const;
    std::vector<std::int64_t> list_of_ns(const char* name) const;
    /// The objects of a list; absent: none.
    std::vector<Fields> objects(const char* name) const;
    Fields object(const char* name) const;
    /// A value within this object.
    Fields child(const nlohmann::json& value) const { return {value, file_, line_}; }

private:
    void require_count(const char* name, std::int64_t value) const;

    const nlohmann::json& object_;
    const std::string& file_;
    std::size_t line_;
};

}  // namespace tutti
