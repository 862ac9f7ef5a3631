// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parsers for options that several commands have. All throw Error.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/configuration.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "base/units.hpp"
#include "workloads/bench/buffer_pool.hpp"
#include "workloads/timing/measure.hpp"

namespace tutti {

/// The range first..last, both included.
struct IntRange {
    int first = 1;
    int last = 1;
};

/// Parses "8" or "1..64"; at least 1.
IntRange parse_range(const std::string& text);

/// The sizes of -b, -e, and -f or -i.
struct SizeSweep {
    Bytes first, last;
    double factor = 2;
    std::optional<Bytes> step;  ///< added instead of multiplying by `factor`

    /// Returns the sizes in ascending order. Throws Error for an empty range and for far too many
    /// sizes.
    std::vector<Bytes> sizes() const;
};

/// Parses -f: above 1.
double parse_factor(const std::string& text);
/// Parses -i: above 0.
Bytes parse_step(const std::string& text);

/// Splits "a,b,c"; an empty text has no items. Throws Error for an empty item.
std::vector<std::string> split_list(const std::string& text);

/// Parses --counts: "0,1,1000".
std::vector<std::int64_t> parse_counts(const std::string& text);

/// Parses --seed: at least 0.
std::uint64_t parse_seed(const std::string& text);

/// Parses --for-ranks: "8,16,64".
std::vector<int> parse_rank_counts(const std::string& text);

/// Parses -r: a rank, or nothing for "all".
std::optional<Rank> parse_root(const std::string& text);

/// Returns a parser for a list of a knob's values; "auto" is its default.
std::function<std::vector<std::int64_t>(const std::string& text)> values_of(const Knob& knob);

/// Parses one value of a knob that has words.
int word_value_of(const Knob& knob, const std::string& text);

/// Parses -T: "250ms", or a bare number of seconds as nccl-tests has it; above 0.
double parse_timeout(const std::string& option, const std::string& text);

/// Parses --target-ci and --min-effect: "2%", below 100%.
double parse_target(const std::string& option, const std::string& text);

/// Returns the same parsers for one option.
inline auto timeout_of(std::string option) {
    return [option = std::move(option)](const std::string& text) {
        return parse_timeout(option, text);
    };
}
/// Parses a time above 0 with a unit: "20s".
inline auto budget_of(std::string option) {
    return [option = std::move(option)](const std::string& text) {
        const double seconds = parse_seconds(text);
        if (seconds <= 0) throw Error(option + " must be > 0, e.g. 20s");
        return seconds;
    };
}
inline auto target_of(std::string option) {
    return [option = std::move(option)](const std::string& text) {
        return parse_target(option, text);
    };
}

/// Parses --buffers, each kind once; an empty text gives none.
std::vector<BufferKind> parse_buffers(const std::string& text);

/// Parses --quads: an even number.
int parse_quads(const std::string& text);

/// Returns a parser for a list of names, or "all".
template <class Value>
auto list_of(std::span<const Value> all, Value (*parse)(std::string_view)) {
    return [all, parse](const std::string& text) -> std::vector<Value> {
        if (text == "all") return {all.begin(), all.end()};
        std::vector<Value> values;
        for (const auto& item : split_list(text)) values.push_back(parse(item));
        if (values.empty()) values.push_back(parse(text));  // throws an error that lists the names
        return values;
    };
}

/// Parses one of a few words, which --help lists.
template <class Value>
struct OneOf {
    std::string option;
    std::vector<std::pair<std::string, Value>> known;
    std::vector<std::pair<std::string, Value>> old_spellings = {};  ///< accepted, but not listed

    Value operator()(const std::string& typed) const {
        for (const auto* words : {&known, &old_spellings})
            for (const auto& [name, value] : *words)
                if (typed == name) return value;
        throw Error(option + " " + typed + " is unknown; use one of: " + names(", "));
    }
    std::string names(const std::string& between) const {
        std::string text;
        for (const auto& [name, value] : known) text += (text.empty() ? "" : between) + name;
        return text;
    }
};

template <class Value>
OneOf<Value> one_of(std::string option, std::vector<std::pair<std::string, Value>> known) {
    return {std::move(option), std::move(known)};
}

/// Parses --sync.
inline const auto parse_sync =
    one_of<Protocol::Sync>("--sync", {{"auto", Protocol::Sync::automatic},
                                      {"deadline", Protocol::Sync::deadline},
                                      {"barrier", Protocol::Sync::barrier},
                                      {"row", Protocol::Sync::back_to_back}});

}  // namespace tutti
