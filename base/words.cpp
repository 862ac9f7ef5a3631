// SPDX-License-Identifier: Apache-2.0
#include "base/words.hpp"

#include <cstdio>
#include <iterator>

namespace tutti {

std::string in_words(Bytes bytes) {
    const char* const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    auto amount = static_cast<double>(bytes.count);
    std::size_t unit = 0;
    for (; amount >= 1024 && unit + 1 < std::size(units); ++unit) amount /= 1024;
    char text[32];
    std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", amount, units[unit]);
    return text;
}

std::string counted(std::int64_t count, std::string_view noun) {
    const char* const many = noun.ends_with("ch") ? "es" : "s";
    return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : many);
}

}  // namespace tutti
