// SPDX-License-Identifier: Apache-2.0
#include "base/name_table.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace tutti {
namespace {

char lower(char letter) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

// Returns the Levenshtein distance, whatever the case of letters, one row at a time.
std::size_t edits(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row.back();
}

}  // namespace

std::optional<std::string> closest_name(std::string_view typed,
                                        std::span<const std::string> names) {
    const auto nearest = std::min_element(
        names.begin(), names.end(),
        [&](const auto& a, const auto& b) { return edits(typed, a) < edits(typed, b); });
    if (nearest == names.end()) return std::nullopt;
    const std::size_t tolerated = std::max<std::size_t>(2, nearest->size() / 3);
    if (edits(typed, *nearest) > tolerated) return std::nullopt;
    return *nearest;
}

std::string unknown_name(std::string_view kind, std::string_view typed,
                         std::span<const std::string> names) {
    std::string text = "unknown " + std::string(kind) + " '" + std::string(typed) + "'";
    if (const auto guess = closest_name(typed, names)) text += "; did you mean '" + *guess + "'?";
    text += text.back() == '?' ? " Known:" : "; known:";
    for (const auto& name : names) text += " " + name;
    return text;
}

}  // namespace tutti
