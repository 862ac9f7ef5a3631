// SPDX-License-Identifier: Apache-2.0
#include "base/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace tutti {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

int cpu_number(std::string_view text, const Source& source, int line) {
    const auto number = decimal_number(text);
    if (!number || *number < 0 || *number >= most_cpus)
        source.fail(line, fmt::format("{} is not a CPU number from 0 to {}", in_quotes(text),
                                      most_cpus - 1));
    return static_cast<int>(*number);
}

}  // namespace

int Source::line_of(std::size_t position) const {
    const auto before = text_.substr(0, position);
    return 1 + static_cast<int>(std::ranges::count(before, '\n'));
}

std::string Source::at(int line, std::string_view what) const {
    return fmt::format("{}:{}: {}", name_, std::max(line, 1), what);
}

void Source::fail(int line, const std::string& what) const {
    throw Error(printable(at(line, what)));
}

std::string in_quotes(std::string_view text, std::size_t readable) {
    std::string shown(text.substr(0, readable));
    for (char& c : shown)
        if (c < ' ' || c > '~') c = '?';
    return "'" + shown + (text.size() > readable ? "...'" : "'");
}

std::string printable(std::string_view text) {
    std::string safe;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
        if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F
            safe += '?';
            ++i;
        } else {
            safe += byte < ' ' || byte == 0x7f ? '?' : text[i];
        }
    }
    return safe;
}

std::string xml_escaped(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        if (c == '&')
            safe += "&amp;";
        else if (c == '<')
            safe += "&lt;";
        else if (c == '>')
            safe += "&gt;";
        else if (c == '"')
            safe += "&quot;";
        else
            safe += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? ' ' : c;
    }
    return safe;
}

std::optional<std::int64_t> decimal_number(std::string_view text) {
    return number_in<std::int64_t>(text, 10);
}

std::optional<std::int64_t> hexadecimal_number(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    if (text.starts_with('-')) return std::nullopt;
    return number_in<std::int64_t>(text, 16);
}

std::optional<double> real_number(std::string_view text) {
    const auto number = number_in<double>(text);
    return number && std::isfinite(*number) ? number : std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

std::string in_lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower;
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    for (auto at = text.begin(); at != text.end();) {
        const auto start = std::find_if_not(at, text.end(), is_blank);
        at = std::find_if(start, text.end(), is_blank);
        if (start != at) words.emplace_back(start, at);
    }
    return words;
}

std::optional<std::string> pci_address(std::string_view text) {
    const auto parts = split(text, ':');
    if (parts.size() != 3) return std::nullopt;
    const auto device_and_function = split(parts[2], '.');
    if (device_and_function.size() != 2) return std::nullopt;
    for (const auto part : {parts[0], parts[1], device_and_function[0], device_and_function[1]})
        if (part.size() > 8 || !number_in<std::uint32_t>(part, 16)) return std::nullopt;
    std::string address(text);
    for (char& c : address)
        if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    return address;
}

std::optional<std::vector<int>> cpus_of_mask(std::string_view mask, const Source& source,
                                             int line) {
    constexpr std::int64_t bits = 32;
    if (mask.starts_with("0xf...f")) return std::nullopt;
    std::vector<int> cpus;
    if (mask.empty()) return cpus;
    const auto words = split(mask, ',');
    for (std::size_t from_end = 0; from_end < words.size(); ++from_end) {
        const std::string_view text = words[words.size() - 1 - from_end];
        const auto word = text.empty() ? std::optional<std::int64_t>(0) : hexadecimal_number(text);
        if (!word || *word >> bits != 0)
            source.fail(line, in_quotes(text) +
                                  " is not part of a CPU set: hexadecimal words of 32 bits, "
                                  "separated by commas");
        if (*word != 0 && from_end >= most_cpus / bits)
            source.fail(line, fmt::format("the CPU set exceeds CPU {}", most_cpus - 1));
        for (int bit = 0; bit < bits; ++bit)
            if (*word >> bit & 1) cpus.push_back(static_cast<int>(from_end * bits) + bit);
    }
    return cpus;
}

std::vector<int> cpus_of_list(std::string_view list, const Source& source, int line) {
    std::vector<int> cpus;
    for (const std::string_view part : split(list, ',')) {
        const std::size_t dash = part.find('-');
        const int first = cpu_number(part.substr(0, dash), source, line);
        const int last = dash == std::string_view::npos
                             ? first
                             : cpu_number(part.substr(dash + 1), source, line);
        // Overlaps are refused so that a short text cannot cause much work.
        if (last < first || (!cpus.empty() && first <= cpus.back()))
            source.fail(line,
                        in_quotes(list) + " is not an ascending list of CPUs such as 0-19,40-59");
        for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    }
    return cpus;
}

}  // namespace tutti
