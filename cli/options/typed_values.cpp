// SPDX-License-Identifier: Apache-2.0
#include "cli/options/typed_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace tutti {
namespace {

struct Ends {
    Bytes first, last;
};

Ends ends_of(const std::string& first, const std::string& last) {
    const Ends ends{parse_bytes(first), parse_bytes(last)};
    if (ends.first > ends.last)
        throw Error(
            fmt::format("-b {} is above -e {}; type the smaller size behind -b", first, last));
    return ends;
}

}  // namespace

std::vector<Bytes> sizes_by_factor(const std::string& first, const std::string& last,
                                   double factor) {
    const Ends ends = ends_of(first, last);
    if (factor <= 1) throw Error("-f must be above 1; type for example -f 2");
    std::vector<Bytes> sizes;
    for (auto size = static_cast<double>(ends.first.count);
         size <= static_cast<double>(ends.last.count); size = std::max(size * factor, size + 1))
        sizes.push_back({static_cast<std::int64_t>(size)});
    return sizes;
}

std::vector<Bytes> sizes_by_step(const std::string& first, const std::string& last,
                                 const std::string& step_text) {
    const Ends ends = ends_of(first, last);
    const Bytes step = parse_bytes(step_text);
    if (step.count == 0) throw Error("-i 0 does not move on; type for example -i 1M");
    if ((ends.last.count - ends.first.count) / step.count > 100'000)
        throw Error("that is over 100000 sizes; type a larger -i, or -f 2");
    std::vector<Bytes> sizes;
    for (std::int64_t size = ends.first.count; size <= ends.last.count; size += step.count)
        sizes.push_back({size});
    return sizes;
}

std::optional<std::int64_t> number_in(const std::string& text, std::int64_t most) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || *end != '\0' || number < 0 || number > most) return std::nullopt;
    return number;
}

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

namespace {

std::optional<std::int64_t> value_of(const Knob& knob, const std::string& typed) {
    if (typed == "auto") return knob.otherwise;
    const std::optional<std::int64_t> value =
        knob.is_size() ? parse_bytes(typed).count : number_in(typed, knob.most);
    return value && *value >= knob.least ? value : std::nullopt;
}

}  // namespace

std::vector<std::int64_t> values_of(const Knob& knob, const std::string& text) {
    const std::string remedy = knob.is_size()
                                   ? "sizes, for example 16K,64K or auto"
                                   : fmt::format("a list of {} .. {}", knob.least, knob.most);
    std::vector<std::int64_t> values;
    for (const auto& item : split_list(text)) {
        const auto value = value_of(knob, item);
        if (!value)
            throw Error(fmt::format("--{} {} is out of range; type {}", knob.name, item, remedy));
        values.push_back(*value);
    }
    if (values.empty()) throw Error(fmt::format("--{} names nothing; type {}", knob.name, remedy));
    return values;
}

Rank root_of(const std::string& text) {
    const auto root = number_in(text, std::numeric_limits<int>::max());
    if (!root) throw Error("'" + text + "' is no root; type one rank, for example -r 0, or -r all");
    return Rank{static_cast<int>(*root)};
}

double target_of(const std::string& text) {
    const double target = parse_fraction(text);
    if (target >= 1)
        throw Error("--target-ci " + text + " is all of the time; type for example 2%");
    return target;
}

double timeout_of(const std::string& text) {
    const bool is_bare = !text.empty() && text.find_first_not_of("0123456789.") == text.npos;
    const double seconds = parse_seconds(is_bare ? text + "s" : text);
    if (seconds <= 0) throw Error("-T 0 gives up at once; type for example -T 30s");
    return seconds;
}

std::vector<BufferKind> buffer_kinds_of(const std::string& text) {
    std::vector<BufferKind> kinds;
    for (const auto& typed : split_list(text)) {
        const auto name =
            typed == "ordinary" ? "unregistered" : typed;  // its name in older commands
        const auto kind = word<BufferKind>("--buffers", name,
                                           {{"registered", BufferKind::registered},
                                            {"unregistered", BufferKind::unregistered},
                                            {"host", BufferKind::unregistered},
                                            {"pinned", BufferKind::pinned},
                                            {"device", BufferKind::device}});
        if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
    }
    return kinds;
}

Protocol::Sync sync_of(const std::string& text) {
    using Sync = Protocol::Sync;
    return word<Sync>("--sync", text,
                      {{"auto", Sync::automatic},
                       {"deadline", Sync::deadline},
                       {"barrier", Sync::barrier},
                       {"row", Sync::back_to_back}});
}

}  // namespace tutti
