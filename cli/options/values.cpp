// SPDX-License-Identifier: Apache-2.0
#include "cli/options/values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "base/source.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_sizes = 100'000;  // more would take days, and all of the memory

// A whole number from 0 to `most`; nothing for anything else.
std::optional<std::int64_t> count_in(std::string_view text, std::int64_t most) {
    const auto number = decimal_number(text);
    return number && *number >= 0 && *number <= most ? number : std::nullopt;
}

std::optional<std::int64_t> value_of(const Knob& knob, const std::string& typed) {
    if (typed == "auto") return knob.default_value;
    if (knob.has_words()) return knob.value_of_words(typed);
    const std::optional<std::int64_t> value =
        knob.is_size() ? parse_bytes(typed).count : count_in(typed, knob.most);
    return value && *value >= knob.least ? value : std::nullopt;
}

}  // namespace

IntRange parse_range(const std::string& text) {
    const auto number = [&](std::string_view part) {
        const auto value = count_in(part, std::numeric_limits<int>::max());
        if (!value || *value < 1)
            throw Error("'" + text + "' is not a range of rank counts; use for example 8 or 1..64");
        return static_cast<int>(*value);
    };
    const auto dots = text.find("..");
    const std::string_view whole = text;
    if (dots == std::string::npos) return {number(whole), number(whole)};
    const IntRange range{number(whole.substr(0, dots)), number(whole.substr(dots + 2))};
    if (range.first > range.last)
        throw Error("the range '" + text + "' is empty; use the smaller number first");
    return range;
}

std::vector<Bytes> SizeSweep::sizes() const {
    if (first > last)
        throw Error(fmt::format("-b {} is above -e {}; use a smaller -b", to_string(first),
                                to_string(last)));
    std::vector<Bytes> sizes;
    auto size = static_cast<double>(first.count);  // not rounded between sizes
    while (size <= static_cast<double>(last.count)) {
        if (sizes.size() == most_sizes)
            throw Error(
                fmt::format("-b {} to -e {} has more than {} sizes; use a larger {}, or -f 2",
                            to_string(first), to_string(last), most_sizes, step ? "-i" : "-f"));
        sizes.push_back({static_cast<std::int64_t>(size)});
        size = step ? size + static_cast<double>(step->count) : std::max(size * factor, size + 1);
    }
    return sizes;
}

double parse_factor(const std::string& text) {
    char* end = nullptr;
    const double factor = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !std::isfinite(factor) || factor <= 1)
        throw Error("-f must be above 1, not '" + text + "'; use for example -f 2");
    return factor;
}

Bytes parse_step(const std::string& text) {
    const Bytes step = parse_bytes(text);
    if (step.count == 0) throw Error("-i must be > 0, e.g. 1M");
    return step;
}

std::vector<std::string> split_list(const std::string& text) {
    std::vector<std::string> items;
    std::istringstream stream(text.empty() ? text : text + ",");
    for (std::string item; std::getline(stream, item, ',');) {
        if (item.empty())
            throw Error("the list '" + text +
                        "' has an empty item; use commas only between items, as in a,b");
        items.push_back(item);
    }
    return items;
}

std::vector<std::int64_t> parse_counts(const std::string& text) {
    constexpr auto most = std::int64_t{1}
                          << 44;  // more than any memory; the bytes still fit a number
    std::vector<std::int64_t> counts;
    for (const auto& item : split_list(text)) {
        const auto count = count_in(item, most);
        if (!count)
            throw Error("'" + item +
                        "' is not an element count; use for example --counts 0,1,1000");
        counts.push_back(*count);
    }
    return counts;
}

std::uint64_t parse_seed(const std::string& text) {
    const auto seed = number_in<std::uint64_t>(text);
    if (!seed)
        throw Error(
            fmt::format("'{}' is not a seed; use a number from 0 to {}, for example --seed 1", text,
                        std::numeric_limits<std::uint64_t>::max()));
    return *seed;
}

std::vector<int> parse_rank_counts(const std::string& text) {
    std::vector<int> counts;
    for (const auto& item : split_list(text)) {
        const auto count = count_in(item, 1 << 20);
        if (!count || *count < 1)
            throw Error("'" + item + "' is not a rank count; use for example --for-ranks 8,16,64");
        counts.push_back(static_cast<int>(*count));
    }
    return counts;
}

std::optional<Rank> parse_root(const std::string& text) {
    if (text == "all") return std::nullopt;
    const auto root = count_in(text, std::numeric_limits<int>::max());
    if (!root) throw Error("'" + text + "' is not a root; use a rank, for example -r 0, or -r all");
    return Rank{static_cast<int>(*root)};
}

std::function<std::vector<std::int64_t>(const std::string& text)> values_of(const Knob& knob) {
    return [&knob](const std::string& text) {
        const std::string remedy =
            knob.is_size() ? fmt::format("for example --{} 64K", knob.name)
            : knob.has_words()
                ? fmt::format("auto, or {}, joined by +", fmt::join(knob.words(), ", "))
                : fmt::format("a list of {} .. {}", knob.least, knob.most);
        std::vector<std::int64_t> values;
        for (const auto& item : split_list(text)) {
            const auto value = value_of(knob, item);
            if (!value)
                throw Error(fmt::format("--{} {} is {}; use {}", knob.name, item,
                                        knob.has_words() ? "unknown" : "out of range", remedy));
            values.push_back(*value);
        }
        if (values.empty()) throw Error(fmt::format("--{} is empty; use {}", knob.name, remedy));
        return values;
    };
}

int word_value_of(const Knob& knob, const std::string& text) {
    const std::vector<std::int64_t> values = values_of(knob)(text);
    if (values.size() > 1)
        throw Error(fmt::format("--{} {} has several values; use one of them", knob.name, text));
    return static_cast<int>(values.front());
}

double parse_timeout(const std::string& option, const std::string& text) {
    const bool is_bare = !text.empty() && text.find_first_not_of("0123456789.") == text.npos;
    const double seconds = parse_seconds(is_bare ? text + "s" : text);
    if (seconds <= 0) throw Error(option + " must be > 0, e.g. 30s");
    return seconds;
}

double parse_target(const std::string& option, const std::string& text) {
    const double target = parse_fraction(text);
    if (target >= 1) throw Error(option + " must be < 100%, e.g. 2%");
    return target;
}

std::vector<BufferKind> parse_buffers(const std::string& text) {
    const auto parse = one_of<BufferKind>("--buffers", {{"registered", BufferKind::registered},
                                                        {"unregistered", BufferKind::unregistered},
                                                        {"host", BufferKind::unregistered},
                                                        {"mapped", BufferKind::mapped},
                                                        {"pinned", BufferKind::pinned},
                                                        {"device", BufferKind::device}});
    std::vector<BufferKind> kinds;
    for (const auto& typed : split_list(text)) {
        const bool is_old_name = typed == "ordinary";
        const BufferKind kind = is_old_name ? BufferKind::unregistered : parse(typed);
        if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
    }
    return kinds;
}

int parse_quads(const std::string& text) {
    const int quads = std::atoi(text.c_str());
    if (quads < 2 || quads % 2 != 0 || quads > 1000)
        throw Error("--quads " + text + " is not an even number from 2 to 1000");
    return quads;
}

}  // namespace tutti
