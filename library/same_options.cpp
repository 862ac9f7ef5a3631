// SPDX-License-Identifier: Apache-2.0
#include "library/same_options.hpp"

#include <fmt/format.h>

#include "autotune/table/table_json.hpp"

namespace tutti {
namespace {

// FNV-1a: the same in every build, so also where ranks run different ones.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char letter : text)
        hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
    return hash;
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

void check_same_options(World& world, const CommunicatorOptions& options) {
    Given mine;
    if (options.table) {
        mine.from = TableFrom::program;
        mine.table = hash_of(to_json(*options.table));
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
