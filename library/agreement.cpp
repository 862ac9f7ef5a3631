// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "autotune/table/table_json.hpp"
#include "base/error.hpp"
#include "base/hashes.hpp"
#include "collectives/world/different_calls.hpp"
#include "library/communicator_state.hpp"

namespace tutti {

namespace {

bool is_same_but_for_places(const CallKey& one, const CallKey& other) {
    return one.call == other.call && one.in_place == other.in_place && one.mode == other.mode &&
           one.has_lengths == other.has_lengths && one.arm == other.arm &&
           one.is_registered() == other.is_registered();
}

std::string to_string(const RegisteredPlace& place) {
    return place.arena < 0 ? "nothing" : fmt::format("byte {}", place.offset);
}

// Names the operation and the root only if the collective has them.
std::string to_string(const CallKey& key) {
    const Call& call = key.call;
    std::string words =
        fmt::format("{} of {}{} {}", name_of_call(call.collective, key.has_lengths),
                    key.has_lengths ? "at most " : "", call.count, name_of(call.type));
    if (reduces(call.collective)) words += fmt::format(", {}", name_of(call.op));
    if (has_root(call.collective)) words += fmt::format(", root {}", call.root.index);
    if (key.in_place) words += ", in place";
    if (key.is_registered())
        words +=
            fmt::format(", registered, from {} to {}", to_string(key.input), to_string(key.output));
    return words + (key.mode == CallMode::nonblocking ? ", started" : "");
}

// Returns the first two ranks that give different places. Ranks that do not use the buffer are
// skipped.
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

enum class TableFrom : std::uint8_t { none, program, file };

// Options that must be equal on all ranks. The name of the table file matters on rank 0 only.
struct SharedOptions {
    std::uint64_t table = 0;
    double learning_bound = 0;
    std::uint64_t most_plans = 0;
    TableFrom from = TableFrom::none;
    bool table_anyway = false;
};

}  // namespace

void check_same_call(World& world, const CallKey& key) {
    const auto all = gather_all(world, key);
    const auto pair = different(all);
    if (!pair) return;
    throw DifferentCalls(fmt::format(
        "ranks make different calls: rank {} calls {}; rank {} calls {}; make the same calls "
        "in the same order on all ranks",
        pair->one, to_string(all[pair->one]), pair->other, to_string(all[pair->other])));
}

void check_same_options(World& world, const CommunicatorOptions& options) {
    SharedOptions mine;
    if (options.table) {
        mine.from = TableFrom::program;
        const std::string table = to_json(*options.table);
        mine.table = fnv1a(std::as_bytes(std::span(table)));
    } else if (!options.table_file.empty()) {
        mine.from = TableFrom::file;
        mine.table_anyway = options.table_anyway;
    }
    if (options.learn) mine.learning_bound = options.learn->bound;
    mine.most_plans = options.most_plans;

    const auto all = gather_all(world, mine);
    const auto expect_equal = [&](const char* option, const auto& describe) {
        const std::string first = describe(all.front());
        for (std::size_t rank = 1; rank < all.size(); ++rank)
            if (const std::string other = describe(all[rank]); other != first)
                throw Error(fmt::format(
                    "{} differs: {} on rank 0, {} on rank {}; use the same on all ranks", option,
                    first, other, rank));
    };
    using Options = SharedOptions;
    expect_equal("table", [](const Options& one) -> std::string {
        if (one.from == TableFrom::none) return "none";
        return one.from == TableFrom::file ? "a file" : fmt::format("{:016x}", one.table);
    });
    expect_equal("table_anyway",
                 [](const Options& one) { return fmt::to_string(one.table_anyway); });
    expect_equal("learn", [](const Options& one) {
        return one.learning_bound == 0 ? "off" : fmt::format("bound {}", one.learning_bound);
    });
    expect_equal("most_plans", [](const Options& one) { return fmt::to_string(one.most_plans); });
}

}  // namespace tutti
