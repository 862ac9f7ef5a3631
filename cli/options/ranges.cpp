// SPDX-License-Identifier: Apache-2.0
#include "cli/options/ranges.hpp"

#include <charconv>

#include "base/error.hpp"

namespace tutti {

IntRange parse_range(const std::string& text) {
    const auto number = [&](std::string_view part) {
        int value = 0;
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
        if (error != std::errc{} || end != part.data() + part.size() || value < 1)
            throw Error("'" + text + "' is no range of rank counts; type for example 8 or 1..64");
        return value;
    };
    const auto dots = text.find("..");
    const std::string_view whole = text;
    if (dots == std::string::npos) return {number(whole), number(whole)};
    const IntRange range{number(whole.substr(0, dots)), number(whole.substr(dots + 2))};
    if (range.first > range.last)
        throw Error("the range '" + text + "' is empty; type the smaller number first");
    return range;
}

}  // namespace tutti
