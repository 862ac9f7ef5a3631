// SPDX-License-Identifier: Apache-2.0
#include "base/units.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "base/error.hpp"

namespace tutti {
namespace {

struct Quantity {
    double number;
    std::string unit;
};

// Splits "1.5MiB" into 1.5 and "MiB"; throws Error without a number >= 0.
Quantity split(std::string_view text, std::string_view what, std::string_view example) {
    const std::string copy(text);
    char* end = nullptr;
    const double number = std::strtod(copy.c_str(), &end);
    if (end == copy.c_str() || !std::isfinite(number) || number < 0)
        throw Error("'" + copy + "' is not a " + std::string(what) + "; use " +
                    std::string(example));
    return {number, std::string(end)};
}

}  // namespace

Bytes parse_bytes(std::string_view text) {
    const std::string example = "e.g. 8, 4K, 1.5M or 2G (K = 1024)";
    auto [number, unit] = split(text, "size", example);
    double factor = 1;
    if (!unit.empty()) {
        const std::string letters = "KMGTkmgt";
        const auto at = letters.find(unit[0]);
        const std::string rest = unit.substr(1);
        if (at != std::string::npos && (rest.empty() || rest == "B" || rest == "iB"))
            factor = std::pow(1024.0, static_cast<double>(at % 4 + 1));
        else if (unit != "B")
            throw Error("'" + std::string(text) + "' is not a size; use " + example);
    }
    const double bytes = number * factor;
    if (bytes > 0x1p62) throw Error("size '" + std::string(text) + "' exceeds 4 EiB");
    return {static_cast<std::int64_t>(bytes)};
}

double parse_fraction(std::string_view text) {
    const auto [number, unit] = split(text, "fraction", "e.g. 2.5% or 0.025");
    if (unit == "%") return number / 100;
    if (unit.empty()) return number;
    throw Error("'" + std::string(text) + "' is not a fraction; use e.g. 2.5% or 0.025");
}

double parse_seconds(std::string_view text) {
    const auto [number, unit] = split(text, "time", "e.g. 30s, 250ms or 2m");
    if (unit == "s") return number;
    if (unit.empty()) {
        if (number == 0) return 0;
        throw Error("the time '" + std::string(text) + "' has no unit; use " + std::string(text) +
                    "s or " + std::string(text) + "ms");
    }
    if (unit == "ms") return number * 1e-3;
    if (unit == "us") return number * 1e-6;
    if (unit == "m" || unit == "min") return number * 60;
    throw Error("'" + std::string(text) + "' is not a time; use e.g. 30s, 250ms or 2m");
}

std::string to_string(Bytes bytes) {
    std::int64_t count = bytes.count;
    const char* const units[] = {"", "K", "M", "G", "T"};
    int unit = 0;
    while (unit < 4 && count != 0 && count % 1024 == 0) {
        count /= 1024;
        ++unit;
    }
    return std::to_string(count) + units[unit];
}

std::string describe(Bytes bytes) {
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
