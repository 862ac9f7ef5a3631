// SPDX-License-Identifier: Apache-2.0
#include "library/same_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.hpp"

namespace tutti {
namespace {

bool is_same_but_for_places(const CallKey& one, const CallKey& other) {
    return one.call == other.call && one.in_place == other.in_place && one.form == other.form &&
           one.arm == other.arm && one.is_registered() == other.is_registered();
}

std::string in_words(const RegisteredPlace& place) {
    return place.arena < 0 ? "nothing" : fmt::format("byte {}", place.offset);
}

std::string in_words(const CallKey& key) {
    const Call& call = key.call;
    std::string words = fmt::format("{} of {} {} {} to root {}{}", name_of(call.collective),
                                    call.count, name_of(call.type), name_of(call.op),
                                    call.root.index, key.in_place ? ", in place" : "");
    if (key.is_registered())
        words +=
            fmt::format(", registered, from {} to {}", in_words(key.input), in_words(key.output));
    return words + (key.form == Form::nonblocking ? ", started" : "");
}

// The first rank that gives another place than a rank before it, and that one. A rank on which the
// buffer plays no part may leave it out.
struct Pair {
    std::size_t one = 0, other = 0;
};
std::optional<Pair> different(const std::vector<CallKey>& all, RegisteredPlace CallKey::*place) {
    const auto is_given = [&](const CallKey& key) { return (key.*place).arena >= 0; };
    const auto first = std::ranges::find_if(all, is_given);
    for (auto other = first; other != all.end(); ++other)
        if (is_given(*other) && *other.*place != *first.*place)
            return Pair{static_cast<std::size_t>(first - all.begin()),
                        static_cast<std::size_t>(other - all.begin())};
    return std::nullopt;
}

std::optional<Pair> different(const std::vector<CallKey>& all) {
    for (std::size_t rank = 1; rank < all.size(); ++rank)
        if (!is_same_but_for_places(all[0], all[rank])) return Pair{0, rank};
    const auto inputs = different(all, &CallKey::input);
    return inputs ? inputs : different(all, &CallKey::output);
}

}  // namespace

void check_same_call(World& world, const CallKey& key) {
    const auto all = gather_all(world, key);
    const auto pair = different(all);
    if (!pair) return;
    throw Error(fmt::format("ranks make different calls: rank {} {}; rank {} {}", pair->one,
                            in_words(all[pair->one]), pair->other, in_words(all[pair->other])),
                Exit::rank_lost);
}

}  // namespace tutti
