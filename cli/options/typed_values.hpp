// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the values of options mean that several commands share. All throw Error, one line that says
// what to type instead.
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/configuration.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/units.hpp"
#include "cli/options/options.hpp"
#include "cli/options/ranges.hpp"
#include "workloads/bench/buffer_pool.hpp"
#include "workloads/timing/measure.hpp"

namespace tutti {

/// -b, -e and -f; or -i.
std::vector<Bytes> sizes_by_factor(const std::string& first, const std::string& last,
                                   double factor);
std::vector<Bytes> sizes_by_step(const std::string& first, const std::string& last,
                                 const std::string& step);

/// A whole number from 0 to `most`; nothing for anything else.
std::optional<std::int64_t> number_in(const std::string& text, std::int64_t most);

/// --counts: "0,1,1000"
std::vector<std::int64_t> counts_of(const std::string& text);

/// -r
Rank root_of(const std::string& text);

/// A list of a knob's values; "auto" stands for its default.
std::vector<std::int64_t> values_of(const Knob& knob, const std::string& text);

/// Of -T: "250ms", or a bare number of seconds as behind nccl-tests' -T. Throws Error.
double timeout_of(const std::string& text);

/// --target-ci: "2%", less than all of it. Throws Error.
double target_of(const std::string& text);

/// --buffers: each kind once; an empty text: none.
std::vector<BufferKind> buffer_kinds_of(const std::string& text);

/// --sync
Protocol::Sync sync_of(const std::string& text);

/// A list of names by `parse`, or all there are.
template <class Value>
std::vector<Value> values_of(const std::string& text, std::span<const Value> all,
                             Value (*parse)(std::string_view)) {
    if (text == "all") return {all.begin(), all.end()};
    std::vector<Value> values;
    for (const auto& item : split_list(text)) values.push_back(parse(item));
    if (values.empty()) values.push_back(parse(text));  // throws, saying what can be typed
    return values;
}

/// The value of one of a few words.
template <class Value>
Value word(const char* option, const std::string& typed,
           std::initializer_list<std::pair<const char*, Value>> known) {
    std::string names;
    for (const auto& [name, value] : known) {
        if (typed == name) return value;
        names += std::string(names.empty() ? "" : ", ") + name;
    }
    throw Error(std::string(option) + " " + typed + " is unknown; type one of: " + names);
}

}  // namespace tutti
