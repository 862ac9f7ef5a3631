// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "autotune/table/table_json.hpp"
#include "base/error.hpp"
#include "base/hashes.hpp"
#include "library/communicator_state.hpp"

namespace tutti {

namespace {

bool is_same_but_for_places(const CallKey& one, const CallKey& other) {
    return one.call == other.call && one.in_place == other.in_place && one.mode == other.mode &&
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
    return words + (key.mode == CallMode::nonblocking ? ", started" : "");
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

enum class TableFrom : std::uint8_t { none, program, file };

// The name of the file is the first rank's affair.
struct Given {
    std::uint64_t table = 0;
    double learning_bound = 0;
    std::uint64_t most_plans = 0;
    TableFrom from = TableFrom::none;
    bool table_anyway = false;
};

std::string table_in_words(const Given& given) {
    if (given.from == TableFrom::none) return "no table";
    if (given.from == TableFrom::file) return "a table file";
    return fmt::format("table {:016x}", given.table);
}

std::string learning_in_words(const Given& given) {
    if (given.learning_bound == 0) return "does not learn";
    return fmt::format("learns for {} of the time", given.learning_bound);
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

void check_same_options(World& world, const CommunicatorOptions& options) {
    Given mine;
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
    const Given& first = all.front();
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
        const Given& other = all[rank];
        if (other.from != first.from || other.table != first.table)
            throw Error(fmt::format(
                "ranks have different tables: rank 0 {}, rank {} {}; give all ranks the same one, "
                "or .table_file, which the first rank reads for all",
                table_in_words(first), rank, table_in_words(other)));
        if (other.table_anyway != first.table_anyway)
            throw Error(
                fmt::format("ranks differ in .table_anyway: rank 0 {}, rank {} {}; give all "
                            "ranks the same",
                            first.table_anyway, rank, other.table_anyway));
        if (other.learning_bound != first.learning_bound)
            throw Error(fmt::format("rank 0 {}, rank {} {}; give all ranks the same .learn",
                                    learning_in_words(first), rank, learning_in_words(other)));
        if (other.most_plans != first.most_plans)
            throw Error(fmt::format(
                "ranks keep different numbers of plans: rank 0 {}, rank {} {}; give all ranks the "
                "same .most_plans",
                first.most_plans, rank, other.most_plans));
    }
}

}  // namespace tutti
