// SPDX-License-Identifier: Apache-2.0
#include "topology/detect/sysfs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "base/source.hpp"

namespace tutti::sysfs {
namespace {

std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(" \t\r");
    if (first == std::string::npos) return "";
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<int> ascending(std::vector<int> numbers) {
    std::ranges::sort(numbers);
    const auto repeated = std::ranges::unique(numbers);
    numbers.erase(repeated.begin(), repeated.end());
    return numbers;
}

}  // namespace

std::vector<std::string> lines_of(const Path& file) {
    std::ifstream stream(file);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

std::optional<std::string> first_line(const Path& file) {
    std::ifstream stream(file);
    std::string line;
    if (!std::getline(stream, line)) return std::nullopt;
    return trimmed(line);
}

std::optional<std::int64_t> number(const Path& file) {
    const auto line = first_line(file);
    return line ? decimal_number(*line) : std::nullopt;
}

std::optional<Bytes> size(const Path& file) {
    const auto line = first_line(file);
    if (!line) return std::nullopt;
    try {
        return parse_bytes(*line);
    } catch (const Error&) {
        return std::nullopt;
    }
}

double leading_number(const Path& file) {
    const double number = std::strtod(first_line(file).value_or("0").c_str(), nullptr);
    return std::isfinite(number) && number > 0 ? number : 0;
}

std::optional<std::string> value_of(const Path& file, std::string_view key) {
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        const auto colon = line.find(':');
        if (colon != std::string::npos && trimmed(line.substr(0, colon)) == key)
            return trimmed(line.substr(colon + 1));
    }
    return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> keyed_lines(const Path& file) {
    std::vector<std::pair<std::string, std::string>> keyed;
    for (const std::string& line : lines_of(file))
        if (const auto colon = line.find(':'); colon != std::string::npos)
            keyed.emplace_back(trimmed(line.substr(0, colon)), line.substr(colon + 1));
    return keyed;
}

std::vector<int> parse_list(std::string_view text) {
    std::vector<int> numbers;
    std::istringstream stream{std::string(text)};
    for (std::string range; std::getline(stream, range, ',');) {
        const auto dash = range.find('-');
        const auto first = number_in<int>(range.substr(0, dash));
        const auto last =
            dash == std::string::npos ? first : number_in<int>(range.substr(dash + 1));
        if (!first || !last || *last >= most_cpus)
            continue;  // a range that runs backwards is empty
        for (int number = *first; number <= *last; ++number) numbers.push_back(number);
    }
    return ascending(std::move(numbers));
}

std::vector<int> list(const Path& file) { return parse_list(first_line(file).value_or("")); }

std::vector<int> mask(const Path& file) {
    std::string digits = first_line(file).value_or("");
    std::erase(digits, ',');
    std::vector<int> numbers;
    for (std::size_t place = 0; place < digits.size(); ++place) {
        const char digit[] = {digits[digits.size() - 1 - place], 0};
        const long bits = std::strtol(digit, nullptr, 16);
        for (int bit = 0; bit < 4; ++bit)
            if (bits >> bit & 1) numbers.push_back(static_cast<int>(place) * 4 + bit);
    }
    return numbers;
}

std::vector<int> list_or_mask(const Path& list_file, const Path& mask_file) {
    std::vector<int> numbers = list(list_file);
    return numbers.empty() ? mask(mask_file) : numbers;
}

std::vector<int> numbered(const Path& folder, std::string_view prefix) {
    std::vector<int> numbers;
    for (const std::string& name : entries(folder))
        if (name.starts_with(prefix))
            if (const auto number = number_in<std::uint16_t>(name.substr(prefix.size())))
                numbers.push_back(*number);
    return ascending(std::move(numbers));
}

std::vector<std::string> entries(const Path& folder) {
    std::error_code none;  // a missing folder has no entries
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none))
        names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
}

}  // namespace tutti::sysfs
