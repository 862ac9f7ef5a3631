// SPDX-License-Identifier: Apache-2.0
#include "cli/typed_values.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace tutti {
namespace {

// A whole number from 0 to `most`.
std::optional<std::int64_t> number_in(const std::string& text, std::int64_t most) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || *end != '\0' || number < 0 || number > most) return std::nullopt;
    return number;
}

}  // namespace

std::vector<std::int64_t> counts_of(const std::string& text) {
    constexpr std::int64_t most = std::int64_t{1}
                                  << 44;  // beyond any memory; bytes still fit a number
    std::vector<std::int64_t> counts;
    for (const auto& item : split_list(text)) {
        const auto count = number_in(item, most);
        if (!count)
            throw Error("'" + item + "' is no element count; type for example --counts 0,1,1000");
        counts.push_back(*count);
    }
    return counts;
}

std::vector<Bytes> segments_of(const std::string& text) {
    std::vector<Bytes> segments;
    for (const auto& item : split_list(text)) {
        segments.push_back(item == "auto" ? Bytes{} : parse_bytes(item));
        if (segments.back().count == 0 && item != "auto")
            throw Error("segments of nothing never end; type for example --segment 64K");
    }
    if (segments.empty()) throw Error("--segment names no size; type for example 16K,64K or auto");
    return segments;
}

std::vector<int> numbers_of(const char* option, const std::string& text, IntRange range,
                            int usual) {
    std::vector<int> numbers;
    for (const auto& item : split_list(text)) {
        const auto number =
            item == "auto" ? std::optional<std::int64_t>(usual) : number_in(item, range.last);
        if (!number || (*number < range.first && item != "auto"))
            throw Error(fmt::format("{} {} is out of range; type a list of {} .. {}", option, item,
                                    range.first, range.last));
        numbers.push_back(static_cast<int>(*number));
    }
    if (numbers.empty())
        throw Error(fmt::format("{} names no number; type a list of {} .. {}", option, range.first,
                                range.last));
    return numbers;
}

Rank root_of(const std::string& text) {
    const auto root = number_in(text, std::numeric_limits<int>::max());
    if (!root) throw Error("'" + text + "' is no root; type one rank, for example -r 0, or -r all");
    return Rank{static_cast<int>(*root)};
}

}  // namespace tutti
