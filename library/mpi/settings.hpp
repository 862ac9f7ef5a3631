// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tutti {

/// The kinds of calls that the preloaded library can take over: the collectives of tutti in the
/// order of Collective.
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
/// Returns whether the vector that tutti shares out has a block of the call's size for each rank.
constexpr bool is_of_blocks(CallKind kind) {
    return kind != CallKind::all_reduce && kind != CallKind::broadcast &&
           kind != CallKind::reduce && kind < CallKind::barrier;
}

/// The implementation of calls.
enum class PreloadChoice : std::uint8_t {
    off,    ///< the MPI library
    rules,  ///< tutti, by built-in rules
    table,  ///< tutti, by a table of 'tutti tune'
    learn,  ///< the fastest measured at run time, including the MPI library
};

/// Settings of the preloaded library.
struct PreloadSettings {
    PreloadChoice chooser = PreloadChoice::learn;
    std::string table_file = {};
    bool table_anyway = false;                     ///< also accept a table of another topology
    bool always = false;                           ///< also calls that the MPI library does faster
    std::uint32_t kinds = (1U << call_kinds) - 1;  ///< kinds to take over, a bit for each
    std::int64_t after = 64;      ///< calls of each kind and communicator left to the MPI library
    bool on_all_hosts = false;    ///< each rank was started with the library, on any host
    bool reports = false;         ///< print a report at the end
    std::int64_t turn_calls = 0;  ///< calls before switching between MPI library and tutti; 0: off

    bool takes(CallKind kind) const { return (kinds >> static_cast<int>(kind) & 1U) != 0; }
};

/// Parses the environment variables TUTTI (learn, rules, off or a table file), TUTTI_COLLECTIVES (a
/// list of kinds), TUTTI_AFTER, TUTTI_TABLE_ANYWAY, TUTTI_ALWAYS, TUTTI_ON_ALL_HOSTS, TUTTI_REPORT
/// (0 or 1) and TUTTI_AB (calls of a turn). `value_of` returns the value of a variable, or null.
/// Throws Error for invalid values.
PreloadSettings preload_settings(const std::function<const char*(const char* name)>& value_of);

/// Returns what must be equal on all ranks as a text. A table may have another name on each host.
std::string described(const PreloadSettings& settings);

}  // namespace tutti
