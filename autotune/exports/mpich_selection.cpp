// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>

#include "autotune/exports/export.hpp"
#include "base/json_writer.hpp"
#include "base/rounding.hpp"
#include "collectives/baselines/mpi_names.hpp"

// MPICH reads a tree: each key is a condition, siblings are tried in order, leaves name an
// algorithm. The file replaces the whole selection and a missing collective ends the program, so
// rules are added to the library's own tree. Conditions on the communicator must come before those
// on the message.
namespace tutti {
namespace {

// Collectives whose size MPICH calls avg_msg_size; the others have total_msg_size.
bool has_average_size(Collective collective) {
    return collective == Collective::all_reduce || collective == Collective::broadcast ||
           collective == Collective::reduce || collective == Collective::all_to_all;
}

std::string size_condition(Collective collective, std::string_view relation) {
    return fmt::format("{}{}", has_average_size(collective) ? "avg_msg_size" : "total_msg_size",
                       relation);
}

// Converts the size: that of an all_to_all is one block. MPICH reads an int.
std::int64_t size_for_mpich(const ExportedCell& cell, Bytes size) {
    const std::int64_t count = cell.collective == Collective::all_to_all
                                   ? divide_up(size.count, std::int64_t{cell.job_shape.ranks})
                                   : size.count;
    return std::min<std::int64_t>(count, std::numeric_limits<int>::max());
}

// Adds the conditions of an algorithm before it; otherwise `fallback` holds.
Json guarded(const ForeignAlgorithm& algorithm, const Json& fallback) {
    std::string name(name_in(mpi_names, algorithm.collective));
    name.front() = static_cast<char>(name.front() - 'a' + 'A');
    const Json leaf = {
        {fmt::format("algorithm=MPIR_{}_intra_{}", name, algorithm.id), Json::object()}};
    switch (algorithm.collective) {
        case Collective::all_to_all:
            return {{"is_sendbuf_inplace=yes", fallback}, {"is_sendbuf_inplace=no", leaf}};
        case Collective::reduce_scatter:
            return {{"is_commutative=yes", leaf}, {"is_commutative=no", fallback}};
        case Collective::all_reduce:
        case Collective::reduce:
            if (!algorithm.id.starts_with("reduce_scatter")) return leaf;
            return {{"is_op_built_in=yes", {{"count<pow2", fallback}, {"count=any", leaf}}},
                    {"is_op_built_in=no", fallback}};
        default:
            return leaf;
    }
}

bool begins_with_communicator(const Json& tree) {
    for (const auto& [condition, subtree] : tree.items())
        if (condition.starts_with("comm_") || condition.starts_with("is_node_consecutive"))
            return true;
    return false;
}

// Adds the rules where the tree begins to look at the message.
Json with_rules(const Json& tree, const ExportedCell& cell) {
    Json found = Json::object();
    if (begins_with_communicator(tree)) {
        for (const auto& [condition, subtree] : tree.items())
            found[condition] = with_rules(subtree, cell);
        return found;
    }
    std::int64_t decided = 0;
    const auto until = [&](std::int64_t size, const Json& subtree) {
        if (size <= decided) return;
        decided = size;
        found[size_condition(cell.collective, fmt::format("<{}", size))] = subtree;
    };
    for (const ExportedRule& rule : named_rules(cell)) {
        until(size_for_mpich(cell, rule.from), tree);
        until(size_for_mpich(cell, rule.end), guarded(*rule.algorithm, tree));
    }
    found[size_condition(cell.collective, "=any")] = tree;
    return found;
}

}  // namespace

std::string mpich_selection_in(std::string_view text, std::string_view name) {
    constexpr std::string_view beginning = R"({"collective=)";
    if (text.substr(0, text.find_last_not_of(" \t\r\n") + 1).ends_with('}'))
        return std::string(text);
    std::string_view longest;  // the library also has small ones for devices
    for (auto at = text.find(beginning); at != text.npos; at = text.find(beginning, at + 1)) {
        const std::string_view found = text.substr(at, text.find('\0', at) - at);
        if (found.size() > longest.size()) longest = found;
    }
    if (longest.empty())
        throw Error(
            fmt::format("'{}' contains no selection of MPICH; use its libmpich.so, or "
                        "maint/tuning/coll/mpir/generic.json of its source",
                        name));
    return std::string(longest);
}

std::string mpich_selection_of(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    if (!stream) throw Error(fmt::format("cannot read MPICH's selection from '{}'", file));
    return mpich_selection_in(text, file);
}

std::string write_mpich(const Export& exported) {
    if (exported.settings.base.empty())
        throw Error(
            "--to mpich requires the selection of the MPICH that will read it, as the file "
            "replaces it; use --base LIBMPICH.so");
    Json tree = Json::parse(exported.settings.base, nullptr, /*allow_exceptions=*/false);
    if (!tree.is_object()) throw Error("MPICH's selection is no JSON; use its libmpich.so");
    std::map<Collective, Json> originals;
    for (const ExportedCell& cell : exported.cells) {
        if (named_rules(cell).empty()) continue;
        Json& collective = tree[fmt::format("collective={}", name_in(mpi_names, cell.collective))];
        if (!collective.is_object() || !collective.contains("comm_type=intra"))
            throw Error(
                fmt::format("MPICH's selection has nothing for {}; use that of another "
                            "version",
                            name_in(mpi_names, cell.collective)));
        // Cells ascend in ranks: each is added in front of the last branch, which holds for more.
        Json& intra = collective["comm_type=intra"];
        const auto [known, is_new] = originals.try_emplace(cell.collective, intra);
        const Json& fallback = known->second;
        if (is_new) intra = Json::object();
        constexpr const char* others = "comm_size=any";
        intra.erase(others);
        const int ranks = cell.job_shape.ranks;
        intra[fmt::format("comm_size<{}", ranks)] = fallback;
        intra[fmt::format("comm_size<={}", ranks)] = with_rules(fallback, cell);
        intra[others] = fallback;
    }
    // MPICH maps the file as a C string: a length of whole pages would lack the end.
    constexpr std::size_t page = 4096;
    std::string text = tree.dump(1) + "\n";
    if (text.size() % page == 0) text += "\n";
    return text;
}

}  // namespace tutti
