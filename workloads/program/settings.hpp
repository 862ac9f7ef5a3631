// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/source.hpp"
#include "base/units.hpp"

namespace tutti {

/// An option of a workload: the command line offers it as --name.
struct SettingRow {
    std::string_view name;
    std::string_view what;
    std::string_view default_value;  ///< if the user gives none
};

/// The settings of a workload. Getters throw Error with a correction on one line for an invalid
/// value, and for a setting that is not in the rows.
class Settings {
public:
    /// Throws Error for a name in `typed` that is not in the rows.
    Settings(std::span<const SettingRow> rows, std::map<std::string, std::string> typed);

    const std::string& text(std::string_view name) const;
    std::int64_t number(std::string_view name, std::int64_t least, std::int64_t most) const;
    double real(std::string_view name, double least, double most) const;
    Bytes bytes(std::string_view name) const;
    double seconds(std::string_view name) const;
    double fraction(std::string_view name) const;                ///< "10%" or "0.1"
    bool yes(std::string_view name) const;                       ///< yes or no
    std::vector<std::string> list(std::string_view name) const;  ///< separated by commas

    template <class Value>
    Value word(std::string_view name,
               std::initializer_list<std::pair<std::string_view, Value>> known) const {
        std::string names;
        for (const auto& [word, value] : known) {
            if (text(name) == word) return value;
            names += (names.empty() ? "" : ", ") + std::string(word);
        }
        refuse(name, "one of " + names);
    }

    /// Throws Error: the setting is not `expected`, such as "a number".
    [[noreturn]] void refuse(std::string_view name, const std::string& expected) const;

    /// Returns the settings that differ from their defaults, for titles and records: "bucket-cap=5M
    /// scale=0.1".
    std::string to_string() const;

private:
    auto parsed(std::string_view name, auto parse, const char* expected) const {
        try {
            return parse(text(name));
        } catch (const Error&) {
            refuse(name, expected);
        }
    }

    std::vector<SettingRow> rows_;
    std::map<std::string, std::string, std::less<>> texts_;
};

}  // namespace tutti
