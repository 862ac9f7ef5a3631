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

/// How a collective is done: what candidates, plans, tables and records have in common. In names,
/// as a table or a record may come from another build. Its last members are its knobs.
struct Configuration {
    std::string impl = "tutti";  ///< or a baseline's name
    std::string algorithm;       ///< of ours, or forced on the library; empty: the library chooses
    std::string transport;       ///< of ours; empty for a baseline
    std::string order;           ///< of the ranks: topology or a file's name; empty: the launcher's
    Bytes segment;     ///< of pipelined algorithms; 0: the hosts' default, or it does not pipeline
    int radix = 0;     ///< what a step multiplies by; 0: the default, or it has none
    int channels = 1;  ///< equal shares of the message that travel at the same time

    bool is_ours() const { return impl == "tutti"; }
    auto operator<=>(const Configuration&) const = default;
};

/// A number of a configuration that names, options, tables, records and searches know by this list
/// alone: a new one is a member above and a row below, and is put to use by the planner.
struct Knob {
    const char* name;      ///< of its option, and in tables and race logs
    const char* key_name;  ///< in the keys of records and in CSV files
    std::variant<Bytes Configuration::*, int Configuration::*> member;
    std::int64_t otherwise;        ///< its default, which is left out of names and files
    std::int64_t least, most;      ///< what else it may be
    std::int64_t same_as_default;  ///< a value that does the same as the default
    const char* mark;              ///< before its value in brackets: "k" in "tree[k4]/shm"
    const char* letter;            ///< before it in decision maps: "r" in "tree/shm r4"
    const char* searched;          ///< what the tuner tries, as typed
    const char* what;              ///< for --help

    bool is_size() const { return std::holds_alternative<Bytes Configuration::*>(member); }
    std::int64_t of(const Configuration& configuration) const;
    void set(Configuration& configuration, std::int64_t value) const;
    /// As typed: "64K" or "4".
    std::string text_of(const Configuration& configuration) const;
    /// Its default as typed: "auto" where that is none of its values.
    std::string default_text() const;

    /// Calls visit(value, default) with both of the member's own type.
    template <class Visit, class MaybeConst>
    void visit(MaybeConst& configuration, Visit&& visitor) const {
        std::visit(
            [&](auto place) {
                using Value = std::remove_cvref_t<decltype(configuration.*place)>;
                if constexpr (std::is_same_v<Value, Bytes>)
                    visitor(configuration.*place, Bytes{otherwise});
                else
                    visitor(configuration.*place, static_cast<Value>(otherwise));
            },
            member);
    }
};

/// The ids of points are made of the knobs in this order, so new ones come last.
inline constexpr std::array knobs{
    Knob{.name = "segment",
         .key_name = "seg",
         .member = &Configuration::segment,
         .otherwise = 0,
         .least = 1,
         .most = std::int64_t{1} << 62,
         .same_as_default = 0,
         .mark = "",
         .letter = "s",
         .searched = "8K,32K,128K,512K",
         .what = "of pipelined algorithms, a list such as 16K,64K; auto: 128K on one host, 60K "
                 "across hosts"},
    Knob{.name = "radix",
         .key_name = "radix",
         .member = &Configuration::radix,
         .otherwise = 0,
         .least = 2,
         .most = 64,
         .same_as_default = 2,
         .mark = "k",
         .letter = "r",
         .searched = "2,4,8",
         .what = "of algorithms that take one ('tutti list'): what a step multiplies by, a list "
                 "such as 2,4; auto: 2"},
    Knob{.name = "channels",
         .key_name = "channels",
         .member = &Configuration::channels,
         .otherwise = 1,
         .least = 1,
         .most = 64,
         .same_as_default = 1,
         .mark = "x",
         .letter = "c",
         .searched = "1,2",
         .what = "equal shares of the message that travel at the same time, a list such as 1,2"},
};

/// An algorithm of ours with what is not the default, without its transport: "ring", "chain[64K]",
/// "tree[k4]", "two-level-butterfly[16K,k4,x2]@topology".
std::string variant_name(const Configuration& configuration);

/// The same with the transport, "ring[x2]@topology/shm"; of a library "mpi", or "mpi/ring".
std::string to_string(const Configuration& configuration);

}  // namespace tutti
#pragma GCC visibility pop
