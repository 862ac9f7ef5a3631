// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/level.hpp"
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
    int levels = 0;              ///< a bit for each Level of hierarchical algorithms; 0: all
    int level_algorithms = 0;    ///< of these levels, see level_algorithm_names; 0: automatic

    bool is_ours() const { return impl == "tutti"; }
    auto operator<=>(const Configuration&) const = default;
};

/// The algorithms of levels, by their names in the knob level-algorithms.
inline constexpr std::array<std::string_view, 5> level_algorithm_names{"tree", "ring", "butterfly",
                                                                       "one-shot", "multi-rail"};

/// Returns the value of the knob level-algorithms for these names, the largest level first.
consteval int level_algorithms_of(std::initializer_list<std::string_view> names) {
    int value = 0, place = 0;
    for (const std::string_view name : names) {
        int number = 1;
        for (const std::string_view known : level_algorithm_names) {
            if (known == name) break;
            ++number;
        }
        if (number > std::ssize(level_algorithm_names)) throw "no algorithm of levels";
        value |= number << 4 * place++;
    }
    return value;
}

/// How a knob's value is typed and shown: a number (or a size), or words joined by "+". The value
/// of a set has a bit for each of its words; that of a list has four bits for each of its words in
/// turn, the first one lowest: the word's number, counted from 1.
enum class KnobForm : std::uint8_t { number, set, list };

/// A numeric parameter of a configuration. Names, options, tables, records, searches, proofs and
/// figures use only the list below: a new knob needs a member above, a row below and its use, in
/// the planner or in a row of the catalog (docs/developers/guide.md).
struct Knob {
    using Member = std::variant<Bytes Configuration::*, int Configuration::*>;

    const char* name;      ///< in options, tables and race logs
    const char* key_name;  ///< in the keys of records and in CSV files
    Member member;
    std::int64_t default_value;    ///< left out of names and files
    std::int64_t least, most;      ///< range of the other values
    std::int64_t same_as_default;  ///< a value that does the same as the default
    KnobForm form = KnobForm::number;
    /// Returns the word of a place in a set or list; empty after the last one.
    std::string_view (*word)(std::size_t place) = nullptr;
    const char* mark;      ///< before its value in brackets: "k" in "tree[k4]/shm"
    const char* letter;    ///< before it in decision maps: "r" in "tree/shm r4"
    const char* legend;    ///< in figures, with {} for its value: "radix {}"
    const char* searched;  ///< values that the tuner tries, as typed, ascending
    /// Values for which schedules are proved: "2..8", or "3"; empty if it changes no schedule, or
    /// only through the number of segments.
    const char* proved;
    const char* what;  ///< the meaning of one value
    const char* help;

    constexpr bool is_size() const {
        return std::holds_alternative<Bytes Configuration::*>(member);
    }
    constexpr bool has_words() const { return form != KnobForm::number; }
    std::int64_t of(const Configuration& configuration) const;
    void set(Configuration& configuration, std::int64_t value) const;
    /// Returns the value as typed: "64K", "4" or "cache+host".
    std::string text_of(const Configuration& configuration) const;
    /// Returns the default as typed: "auto" if it is outside least .. most.
    std::string default_text() const;
    /// Returns the value of words joined by "+"; none if they are not the knob's.
    std::optional<std::int64_t> value_of_words(std::string_view text) const;
    /// Returns all words.
    std::vector<std::string> words() const;

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
         .legend = "{} segments",
         .searched = "8K,32K,128K,512K",
         .proved = "",
         .what = "Size of the pieces that travel through a pipelined algorithm",
         .help = "Segment sizes of pipelined algorithms, e.g. 16K,64K (auto: 128K on one host, "
                 "60K across hosts, 384K over Open MPI if hosts have several links; larger if an "
                 "algorithm splits a segment into more than 4 chunks, 3 for long vectors across "
                 "hosts)"},
    Knob{.name = "radix",
         .key_name = "radix",
         .member = &Configuration::radix,
         .default_value = 0,
         .least = 2,
         .most = 64,
         .same_as_default = 2,
         .mark = "k",
         .letter = "r",
         .legend = "radix {}",
         .searched = "2,4,8",
         .proved = "2..8",
         .what = "Radix: fan-out per step of the algorithms that have one",
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
         .legend = "{} channels",
         .searched = "1,2",
         .proved = "3",
         .what = "Channels: equal shares of the message that travel at the same time",
         .help = "Numbers of channels: equal shares of the message that travel at the same time, "
                 "e.g. 1,2"},
    Knob{.name = "levels",
         .key_name = "levels",
         .member = &Configuration::levels,
         .default_value = 0,
         .least = 1,
         .most = (1 << all_levels.size()) - 1,
         .same_as_default = 0,
         .form = KnobForm::set,
         .word =
             [](std::size_t place) {
                 return place < all_levels.size() ? NamesOf<Level>::rows[place].name
                                                  : std::string_view();
             },
         .mark = "l=",
         .letter = "l=",
         .legend = "levels {}",
         .searched = "auto",
         .proved = "auto",
         .what = "Levels at which the algorithm levels groups ranks",
         .help = "Levels at which the algorithm 'levels' groups ranks: cache, numa, package, host, "
                 "switch, "
                 "rack, joined by +, e.g. cache+host,numa+host (auto: all that divide the ranks)"},
    Knob{
        .name = "level-algorithms",
        .key_name = "level_algorithms",
        .member = &Configuration::level_algorithms,
        .default_value = 0,
        .least = 1,
        .most = (1 << 28) - 1,
        .same_as_default = 0,
        .form = KnobForm::list,
        .word =
            [](std::size_t place) {
                return place < level_algorithm_names.size() ? level_algorithm_names[place]
                                                            : std::string_view();
            },
        .mark = "a=",
        .letter = "a=",
        .legend = "{}",
        .searched = "auto,butterfly+one-shot",
        .proved = "auto",
        .what = "Algorithms among the groups of the largest level, then inside them, and so on",
        .help =
            "Algorithms among the groups of the largest level, then inside them, and so on, joined "
            "by + (the last one repeats): tree, ring, butterfly, one-shot, multi-rail, e.g. "
            "ring+tree (auto: by collective)"},
};

/// Whether `searched` is a list of ascending values within least .. most. Words are not checked.
constexpr bool has_valid_values(const Knob& knob) {
    if (knob.has_words()) return true;
    constexpr std::string_view units = "KMG";
    std::string_view rest = knob.searched;
    for (std::int64_t before = -1;;) {
        const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
        if (digits == 0 || digits > 18) return false;
        std::int64_t value = 0;
        for (const char digit : rest.substr(0, digits)) value = 10 * value + (digit - '0');
        rest.remove_prefix(digits);
        if (const auto unit = rest.empty() ? units.npos : units.find(rest.front());
            knob.is_size() && unit != units.npos) {
            value <<= 10 * (unit + 1);
            rest.remove_prefix(1);
        }
        if (value <= before || value < knob.least || value > knob.most) return false;
        if (rest.empty()) return true;
        if (rest.front() != ',') return false;
        rest.remove_prefix(1);
        before = value;
    }
}

static_assert(std::ranges::all_of(knobs, has_valid_values),
              "a knob's .searched must be ascending values within .least and .most: 8K,32K or 1,2");

/// Whether no other knob has the same text there, as keys, names and maps would mix the two.
constexpr bool is_distinct(const char* Knob::*text) {
    for (const Knob& one : knobs)
        for (const Knob& other : knobs)
            if (&one != &other && std::string_view(one.*text) == other.*text) return false;
    return true;
}

static_assert(is_distinct(&Knob::name) && is_distinct(&Knob::key_name) &&
                  is_distinct(&Knob::mark) && is_distinct(&Knob::letter),
              "two knobs have the same .name, .key_name, .mark or .letter");

/// Returns the knobs by their letters in decision maps: "s: segment, r: radix, ...".
std::string letters_of_knobs();

/// Returns the algorithm with the knobs that differ from the default, without its transport:
/// "ring", "chain[64K]", "tree[k4]", "two-level-butterfly[16K,k4,x2]@topology".
std::string variant_name(const Configuration& configuration);

/// Returns the variant with its transport, "ring[x2]@topology/shm", or a baseline: "mpi",
/// "mpi/ring", "mpi/chain[32K,k2]".
std::string to_string(const Configuration& configuration);

}  // namespace tutti
#pragma GCC visibility pop
