// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <regex>

#include "base/source.hpp"
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
    {"h", 3600e9},      {"hour", 3600e9},
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

// Also no-break, narrow and thin ones.
constexpr std::string_view blanks[] = {" ", "\t", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x89"};

void skip_blanks(std::string_view& text) {
    const auto starts = [&](std::string_view blank) { return text.starts_with(blank); };
    for (const auto* one = std::begin(blanks); one != std::end(blanks);) {
        one = std::ranges::find_if(blanks, starts);
        if (one != std::end(blanks)) text.remove_prefix(one->size());
    }
}

// Matches at the begin of the text. Numbers are short, and std::regex takes a stack frame per
// character.
bool matches(std::string_view text, std::cmatch& match, const std::regex& pattern) {
    constexpr std::size_t longest = 256;
    text = text.substr(0, longest);
    return std::regex_search(text.data(), text.data() + text.size(), match, pattern,
                             std::regex_constants::match_continuous);
}

// A number at the begin of a text; its length is 0 if there is none.
struct NumberText {
    std::size_t length = 0;
    double value = 0;
};

// Reads 1,234.5 and 1.5e-3, and 0.5D+02 of Fortran.
NumberText plain_number(std::string_view text, bool may_have_groups) {
    static const std::string groups =
        "\\d{1,3}(,|'|_|\xc2\xa0|\xe2\x80\xaf|\xe2\x80\x89)\\d{3}(?:\\1\\d{3})*(?!\\d|\\1\\d)|";
    static const auto pattern = [](const std::string& whole) {
        return std::regex("[-+]?(?=\\.?\\d)(?:" + whole +
                          "\\d+)?(?:\\.\\d+)?(?:[eE][-+]?\\d+|[dD][-+]\\d+)?");
    };
    static const std::regex with_groups = pattern(groups), without_groups = pattern("");
    std::cmatch match;
    if (!matches(text, match, may_have_groups ? with_groups : without_groups)) return {};
    std::string plain;
    for (const char c : std::string_view(match[0].first, match.length()))
        if (is_digit(c) || c == '.' || c == '-')
            plain += c;
        else if (is_letter(c))
            plain += 'e';
        else if (c == '+' && !plain.empty())
            plain += c;
    NumberText number{.length = static_cast<std::size_t>(match.length())};
    // A number that is too large or too small for a double leaves 0.
    std::from_chars(plain.data(), plain.data() + plain.size(), number.value);
    return number;
}

// Reads durations in ns: 1m5.25s, 1h2m3s, 1:05.25 and 0:01:05. 3:10 may be something else.
NumberText duration(std::string_view text) {
    static const std::regex by_letters(R"((?:(\d+)h ?)?(?:(\d+)m ?)?(\d+(?:\.\d+)?)s(?![\w/]))"),
        by_colons(R"((?:(\d+):)?(\d+):(\d\d(?:\.\d+)?)(?![\d:.]))");
    std::cmatch match;
    const bool has_letters = matches(text, match, by_letters);
    if (!has_letters && !matches(text, match, by_colons)) return {};
    const bool has_fraction = match[3].str().find('.') != std::string::npos;
    const bool is_clear =
        has_letters ? match[1].matched || match[2].matched : match[1].matched || has_fraction;
    if (!is_clear) return {};
    double seconds = 0;
    for (int part = 1; part <= 3; ++part)
        seconds = 60 * seconds + real_number(match[part].str()).value_or(0);
    return {static_cast<std::size_t>(match.length()), 1e9 * seconds};
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

// Returns the factor of 1.5k: a letter right after a number, with nothing after it.
std::optional<double> factor_of_suffix(std::string_view text) {
    constexpr std::string_view letters = "kKMGT";
    const bool is_alone = !text.empty() && unit_word(text).size() == 1;
    return is_alone && letters.find(text[0]) != letters.npos
               ? factor_in(prefixes, text.substr(0, 1))
               : std::nullopt;
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

bool is_rate(std::string_view unit) {
    const auto known = unit_of(unit);
    return known && (known->kind.ends_with("/s") || known->kind == "IOPS");
}

std::optional<double> converted(const PrintedNumber& number, std::string_view unit) {
    if (number.unit == unit) return number.value;
    const auto from = unit_of(number.unit), to = unit_of(unit);
    if (!from || !to || from->kind != to->kind) return std::nullopt;
    return number.value * from->factor / to->factor;
}

bool has_decimal_comma(std::string_view text) {
    static const std::string blank = fmt::format("{}", fmt::join(blanks, "|"));
    static const std::regex pattern("(?:[1-9]\\d{0,2}(?:(" + blank + ")\\d{3}|[.']\\d{3})+|\\d+)" +
                                    ",(\\d+)(?!\\d|[.,]\\d)");
    std::cmatch match;
    if (!matches(text, match, pattern)) return false;
    const bool has_three = match[2].length() == 3;
    if (match[1].matched) return !has_three;  // 1 234,5
    const bool is_whole = match[0].str().find_first_of(".'") == std::string::npos;
    if (is_whole && has_three) return false;  // 1,234
    const std::string_view unit = unit_word(text.substr(static_cast<std::size_t>(match.length())));
    return unit_of(unit).has_value();
}

std::optional<PrintedNumber> printed_number_in(std::string_view line, std::string_view captured) {
    const auto at = static_cast<std::size_t>(captured.data() - line.data());
    const std::string_view rest = line.substr(at), before = line.substr(0, at);
    // 5,200 after a comma is two columns of a table, unless the user captured both.
    const bool may_have_groups = !before.ends_with(',') || captured.find(',') != captured.npos;
    if (may_have_groups && has_decimal_comma(rest)) return std::nullopt;
    const NumberText time = duration(rest);
    NumberText number = time.length > 0 ? time : plain_number(rest, may_have_groups);
    const bool is_version = number.length + 1 < rest.size() && rest[number.length] == '.' &&
                            is_digit(rest[number.length + 1]);
    if (is_version) number = plain_number(captured, may_have_groups);
    if (number.length == 0) return std::nullopt;
    if (const auto factor = factor_of_suffix(rest.substr(number.length))) {
        number.value *= *factor;
        ++number.length;
    }
    const std::string_view word = unit_word(rest.substr(number.length));
    if (number.length < captured.size()) {  // the rest of the captured text is the unit
        std::string_view more = captured.substr(number.length);
        skip_blanks(more);
        while (more.ends_with(' ') || more.ends_with('\t')) more.remove_suffix(1);
        if (!more.empty() && more != "." && (more != word || !unit_of(more))) return std::nullopt;
    }
    if (time.length > 0) return PrintedNumber{time.value, "ns"};
    for (const std::string_view unit : {word, unit_before(before)})
        if (auto found = unit.empty() ? std::nullopt : with_unit(number.value, unit)) return found;
    return PrintedNumber{number.value};
}

}  // namespace tutti
