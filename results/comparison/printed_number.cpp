// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "results/comparison/printed_metrics.hpp"

namespace tutti {
namespace {

// Numbers of one kind can be converted to each other by their factors.
struct Unit {
    std::string kind;
    double factor = 1;
};

struct NamedFactor {
    std::string_view name;
    double factor;
};

constexpr NamedFactor times_in_ns[] = {
    {"ns", 1},          {"nsec", 1},        {"nanosecond", 1},    {"us", 1e3},
    {"\xc2\xb5s", 1e3}, {"\xce\xbcs", 1e3}, {"usec", 1e3},        {"microsecond", 1e3},
    {"ms", 1e6},        {"msec", 1e6},      {"millisecond", 1e6}, {"s", 1e9},
    {"sec", 1e9},       {"second", 1e9},    {"min", 60e9},        {"minute", 60e9},
};

constexpr NamedFactor prefixes[] = {{"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40},
                                    {"k", 1e3},     {"K", 1e3},     {"M", 1e6},     {"G", 1e9},
                                    {"T", 1e12},    {"P", 1e15},    {"m", 1e-3},    {"", 1}};

struct Base {
    std::string_view name, kind;
    double factor = 1;
};
constexpr Base bases[] = {{"B", "B"},          {"byte", "B"},        {"bytes", "B"},
                          {"bit", "B", 0.125}, {"bits", "B", 0.125}, {"b", "B", 0.125},
                          {"FLOP", "FLOP"},    {"Flop", "FLOP"},     {"flop", "FLOP"},
                          {"Hz", "Hz"},        {"W", "W"},           {"J", "J"},
                          {"op", "op"},        {"ops", "op"},        {"OP", "op"}};

std::optional<double> factor_in(const auto& names, std::string_view name) {
    const auto found = std::ranges::find(names, name, &NamedFactor::name);
    return found == std::end(names) ? std::nullopt : std::optional(found->factor);
}

bool drop_end(std::string_view& text, std::string_view end) {
    if (text.size() <= end.size() || !text.ends_with(end)) return false;
    text.remove_suffix(end.size());
    return true;
}

// Knows "ns", "seconds", and times of one thing: "ns/op".
std::optional<double> time_unit(std::string_view name) {
    name = name.substr(0, name.find('/'));
    std::string word(name);
    if (word.size() > 3) {  // "Seconds", "MSEC"; "Ms" is no time
        std::ranges::transform(word, word.begin(), [](char c) {
            return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        });
        if (word.ends_with('s') && !factor_in(times_in_ns, word)) word.pop_back();
    } else if (word == "Sec" || word == "secs") {
        word = "sec";
    }
    return factor_in(times_in_ns, word);
}

std::optional<Unit> unit_of(std::string_view name) {
    if (name == "%") return Unit{"%"};
    if (name.starts_with('/')) name = name == "/s" || name == "/sec" ? "1/s" : "";
    if (name == "1/s") return Unit{"1/s"};
    if (const auto ns = time_unit(name)) return Unit{"ns", *ns};
    bool is_rate = false;
    for (const std::string_view end : {"/s", "/sec", "/second", "/S"})
        is_rate = is_rate || drop_end(name, end);
    const std::string_view whole = name;
    for (const bool is_short : {false, true}) {  // "GB/s", "GBps", "GFLOPS"
        std::string_view rest = whole;
        if (is_short &&
            (is_rate || !(rest.ends_with("LOPS") ? drop_end(rest, "S") : drop_end(rest, "ps"))))
            continue;
        for (const NamedFactor& prefix : prefixes) {
            if (!rest.starts_with(prefix.name)) continue;
            const auto base =
                std::ranges::find(bases, rest.substr(prefix.name.size()), &Base::name);
            if (base != std::end(bases))
                return Unit{std::string(base->kind) + (is_rate || is_short ? "/s" : ""),
                            base->factor * prefix.factor};
        }
    }
    if (is_rate) return Unit{std::string(name) + "/s"};  // "images/s"
    return name == "IOPS" ? std::optional(Unit{"IOPS"}) : std::nullopt;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::size_t digits_at(std::string_view text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    return end - at;
}

// Returns the length of a separator of thousands: a comma, an apostrophe, or a narrow space.
std::size_t separator_at(std::string_view text, std::size_t at) {
    const std::string_view rest = text.substr(std::min(at, text.size()));
    for (const std::string_view mark : {",", "'", "_", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89"})
        if (rest.starts_with(mark)) return mark.size();
    return 0;
}

// Returns where the groups of three digits that follow at `at` end; `at` if there are none.
std::size_t groups_end(std::string_view text, std::size_t at) {
    const std::size_t begin = at, length = separator_at(text, at);
    const std::string_view mark = text.substr(at, length);
    while (length > 0 && text.substr(at).starts_with(mark) && digits_at(text, at + length) > 0) {
        if (digits_at(text, at + length) != 3) return begin;  // a list of numbers
        at += length + 3;
    }
    return at;
}

// Returns how long the number at the begin of the text is, 0 if there is none.
std::size_t length_of_number(std::string_view text, bool may_have_groups) {
    std::size_t end = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    const std::size_t digits = digits_at(text, end);
    end += digits;
    if (may_have_groups && digits >= 1 && digits <= 3) end = groups_end(text, end);
    std::size_t fraction = 0;
    if (end < text.size() && text[end] == '.') fraction = digits_at(text, end + 1);
    if (digits + fraction == 0) return 0;
    if (fraction > 0) end += 1 + fraction;
    std::size_t power = end;
    if (power < text.size() && (text[power] == 'e' || text[power] == 'E')) ++power;
    if (power > end && power < text.size() && (text[power] == '-' || text[power] == '+')) ++power;
    if (power > end && digits_at(text, power) > 0) end = power + digits_at(text, power);
    return end;
}

std::optional<double> value_of(std::string_view text) {
    std::string plain;
    for (const char c : text)
        if (is_digit(c) || is_letter(c) || c == '.' || c == '-' || c == '+') plain += c;
    if (plain.starts_with('+')) plain.erase(0, 1);
    double value = 0;
    const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
    // A number that is too large or too small for a double leaves 0.
    const bool is_number = error == std::errc{} || error == std::errc::result_out_of_range;
    if (!is_number || end != plain.data() + plain.size()) return std::nullopt;
    return value;
}

void skip_blanks(std::string_view& text) {
    constexpr std::string_view no_break_space = "\xc2\xa0";
    while (true) {
        if (text.starts_with(' ') || text.starts_with('\t'))
            text.remove_prefix(1);
        else if (text.starts_with(no_break_space))
            text.remove_prefix(no_break_space.size());
        else
            return;
    }
}

// Returns the word of a unit at the begin of the text; it may stand in brackets.
std::string_view unit_word(std::string_view text) {
    skip_blanks(text);
    if (text.starts_with('[') || text.starts_with('(')) text.remove_prefix(1);
    std::size_t end = 0;
    const auto goes_on = [&] {
        const std::string_view rest = text.substr(end);
        if (rest.starts_with("\xc2\xb5") || rest.starts_with("\xce\xbc")) return 2;  // micro
        return !rest.empty() && (is_letter(rest[0]) || rest[0] == '/' || rest[0] == '%') ? 1 : 0;
    };
    while (const int length = goes_on()) end += static_cast<std::size_t>(length);
    const bool is_cut = end < text.size() && (is_digit(text[end]) || text[end] == '_');
    return is_cut ? "" : text.substr(0, end);
}

// Returns the unit of "time [ms]: ", a text before a number.
std::string_view unit_before(std::string_view text) {
    while (!text.empty() && std::string_view(" \t:=").find(text.back()) != text.npos)
        text.remove_suffix(1);
    const std::size_t open = text.find_last_of("[(");
    if (text.empty() || (text.back() != ']' && text.back() != ')') || open == text.npos) return "";
    return text.substr(open + 1, text.size() - open - 2);
}

}  // namespace

std::optional<PrintedNumber> with_unit(double value, std::string_view unit) {
    const auto known = unit_of(unit);
    if (!known) return std::nullopt;
    if (known->kind == "ns") return PrintedNumber{value * known->factor, "ns"};
    return PrintedNumber{value, std::string(unit)};
}

std::optional<double> converted(const PrintedNumber& number, std::string_view unit) {
    if (number.unit == unit) return number.value;
    const auto from = unit_of(number.unit), to = unit_of(unit);
    if (!from || !to || from->kind != to->kind) return std::nullopt;
    return number.value * from->factor / to->factor;
}

std::optional<PrintedNumber> printed_number_in(std::string_view line, std::string_view captured) {
    const auto at = static_cast<std::size_t>(captured.data() - line.data());
    const std::string_view rest = line.substr(at), before = line.substr(0, at);
    // 5,200 after a comma is two columns of a table, unless the user captured both.
    const bool may_have_groups = !before.ends_with(',') || captured.find(',') != captured.npos;
    std::size_t length = length_of_number(rest, may_have_groups);
    const bool is_version =
        length < rest.size() && rest[length] == '.' && digits_at(rest, length + 1) > 0;
    if (length == 0 || is_version) length = captured.size();
    const auto value = value_of(rest.substr(0, length));
    if (!value) return std::nullopt;
    const std::string_view word = unit_word(rest.substr(length));
    if (length < captured.size()) {  // the rest of the captured text is the unit
        std::string_view more = captured.substr(length);
        skip_blanks(more);
        while (more.ends_with(' ') || more.ends_with('\t')) more.remove_suffix(1);
        if (!more.empty() && more != word && more != ".") return std::nullopt;
        if (!more.empty() && more != "." && !unit_of(more)) return std::nullopt;
    }
    for (const std::string_view unit : {word, unit_before(before)})
        if (auto found = unit.empty() ? std::nullopt : with_unit(*value, unit)) return found;
    return PrintedNumber{*value};
}

}  // namespace tutti
