// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

#include "base/units.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// How a collective is performed, by names, as a table or a record may come from another build. The
/// last members are its knobs.
struct Configuration {
    std::string impl = "tutti";  ///< or a baseline's name
    std::string algorithm;       ///< ours, or the baseline's; empty: the baseline chooses
    std::string transport;       ///< empty for a baseline
    std::string order;           ///< rank order: topology or a file's name; empty: the launcher's
    Bytes segment;               ///< pipeline segment; 0: the host's default, or no pipelining
    int radix = 0;               ///< fan-out per step; 0: the default, or the algorithm has none
    int channels = 1;            ///< equal shares of the message that travel at the same time

    bool is_ours() const { return impl == "tutti"; }
    auto operator<=>(const Configuration&) const = default;
};

/// A numeric parameter of a configuration. Names, options, tables, records and searches use only
/// the list below: a new knob needs a member above, a row below and its use in the planner.
struct Knob {
    const char* name;      ///< in options, tables and race logs
    const char* key_name;  ///< in the keys of records and in CSV files
    std::variant<Bytes Configuration::*, int Configuration::*> member;
    std::int64_t default_value;    ///< left out of names and files
    std::int64_t least, most;      ///< range of the other values
    std::int64_t same_as_default;  ///< a value that does the same as the default
    const char* mark;              ///< before its value in brackets: "k" in "tree[k4]/shm"
    const char* letter;            ///< before it in decision maps: "r" in "tree/shm r4"
    const char* searched;          ///< values that the tuner tries, as typed
    const char* help;

    bool is_size() const { return std::holds_alternative<Bytes Configuration::*>(member); }
    std::int64_t of(const Configuration& configuration) const;
    void set(Configuration& configuration, std::int64_t value) const;
    /// Returns the value as typed: "64K" or "4".
    std::string text_of(const Configuration& configuration) const;
    /// Returns the default as typed: "auto" if it is outside least .. most.
    std::string default_text() const;

    /// Calls visit(value, default) with both of the member's own type.
    template <class Visit, class MaybeConst>
    void visit(MaybeConst& configuration, Visit&& visitor) const {
        std::visit(
            [&](auto place) {
                using Value = std::remove_cvref_t<decltype(configuration.*place)>;
                if constexpr (std::is_same_v<Value, Bytes>)
                    visitor(configuration.*place, Bytes{default_value});
                else
                    visitor(configuration.*place, static_cast<Value>(default_value));
            },
            member);
    }
};

/// The ids of points list the knobs in this order: append new ones at the end.
inline constexpr std::array knobs{
    Knob{.name = "segment",
         .key_name = "seg",
         .member = &Configuration::segment,
         .default_value = 0,
         .least = 1,
         .most = std::int64_t{1} << 62,
         .same_as_default = 0,
         .mark = "",
         .letter = "s",
         .searched = "8K,32K,128K,512K",
         .help = "Segment sizes of pipelined algorithms, e.g. 16K,64K (auto: 128K on one host, "
                 "60K across hosts)"},
    Knob{.name = "radix",
         .key_name = "radix",
         .member = &Configuration::radix,
         .default_value = 0,
         .least = 2,
         .most = 64,
         .same_as_default = 2,
         .mark = "k",
         .letter = "r",
         .searched = "2,4,8",
         .help = "Radices (fan-out per step) of the algorithms that have one, see 'tutti list'; "
                 "e.g. 2,4 (auto: 2)"},
    Knob{.name = "channels",
         .key_name = "channels",
         .member = &Configuration::channels,
         .default_value = 1,
         .least = 1,
         .most = 64,
         .same_as_default = 1,
         .mark = "x",
         .letter = "c",
         .searched = "1,2",
         .help = "Numbers of channels: equal shares of the message that travel at the same time, "
                 "e.g. 1,2"},
};

/// Returns the algorithm with the knobs that differ from the default, without its transport:
/// "ring", "chain[64K]", "tree[k4]", "two-level-butterfly[16K,k4,x2]@topology".
std::string variant_name(const Configuration& configuration);

/// Returns the variant with its transport, "ring[x2]@topology/shm", or a baseline: "mpi",
/// "mpi/ring".
std::string to_string(const Configuration& configuration);

}  // namespace tutti
#pragma GCC visibility pop
