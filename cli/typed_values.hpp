// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/units.hpp"
#include "cli/options.hpp"
#include "cli/ranges.hpp"

// What is typed behind options, as values. All throw Error with what to type instead.
namespace tutti {

/// "0,1,1000"
std::vector<std::int64_t> counts_of(const std::string& text);

/// "16K,64K"; "auto" stands for 0, the usual one.
std::vector<Bytes> segments_of(const std::string& text);

/// "2,4": numbers in the range; "auto" stands for the usual one.
std::vector<int> numbers_of(const char* option, const std::string& text, IntRange range, int usual);

Rank root_of(const std::string& text);

/// A list of names by `parse`, or all there are.
template <class Value>
std::vector<Value> values_of(const std::string& text, std::span<const Value> all,
                             Value (*parse)(std::string_view)) {
    if (text == "all") return {all.begin(), all.end()};
    std::vector<Value> values;
    for (const auto& item : split_list(text)) values.push_back(parse(item));
    if (values.empty()) values.push_back(parse(text));  // throws, saying what can be typed
    return values;
}

/// The value of one of a few words.
template <class Value>
Value word(const char* option, const std::string& typed,
           std::initializer_list<std::pair<const char*, Value>> known) {
    std::string names;
    for (const auto& [name, value] : known) {
        if (typed == name) return value;
        names += std::string(names.empty() ? "" : ", ") + name;
    }
    throw Error(std::string(option) + " " + typed + " is unknown; type one of: " + names);
}

}  // namespace tutti
