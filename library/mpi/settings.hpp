// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tutti {

/// The kinds of calls that the preloaded library may take over: the collectives of tutti (the
/// first, in the order of Collective), the barrier, which is an all-reduce of a byte, and the
/// scans, which are an all-gather and a sum.
enum class CallKind : std::uint8_t {
    all_reduce,
    reduce_scatter,
    all_gather,
    broadcast,
    reduce,
    scatter,
    gather,
    all_to_all,
    barrier,
    scan,
    exscan,
};
inline constexpr int call_kinds = 11;
std::string_view name_of(CallKind kind);

/// Who does the calls that are taken over.
enum class PreloadChoice : std::uint8_t {
    off,    ///< the MPI library: nothing is taken over
    rules,  ///< tutti, by built-in rules
    table,  ///< tutti, by a table of 'tutti tune'
    learn,  ///< whoever turns out to be faster while the program runs, the library among them
};

/// What the environment asks of the preloaded library.
struct PreloadSettings {
    PreloadChoice chooser = PreloadChoice::learn;
    std::string table_file = {};
    bool table_anyway = false;                     ///< take a table of another topology, too
    bool always = false;                           ///< also what the library does faster
    std::uint32_t kinds = (1U << call_kinds) - 1;  ///< a bit for each that may be taken over
    std::int64_t after = 64;      ///< calls of a kind that come first, on each communicator
    bool reports = false;         ///< at the end, who did what
    std::int64_t turn_calls = 0;  ///< calls of a turn, by tutti or by the library; 0: no turns

    bool takes(CallKind kind) const { return (kinds >> static_cast<int>(kind) & 1U) != 0; }
};

/// As the variables TUTTI (learn, rules, off, or the file of a table), TUTTI_COLLECTIVES (a list of
/// kinds), TUTTI_AFTER, TUTTI_TABLE_ANYWAY, TUTTI_ALWAYS and TUTTI_REPORT (1, 0) and TUTTI_AB
/// (calls of a turn) say, which `value_of` looks up (null: not set). Throws Error with one line
/// that says what to type instead.
PreloadSettings preload_settings(const std::function<const char*(const char* name)>& value_of);

}  // namespace tutti
