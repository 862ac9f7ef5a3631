// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

#include "autotune/exports/export.hpp"
#include "base/collective_form.hpp"
#include "base/json_writer.hpp"
#include "base/rounding.hpp"
#include "base/source.hpp"
#include "collectives/baselines/mpi_names.hpp"

// Dynamic rules of Open MPI's coll/tuned: whitespace-separated numbers,
//     collectives { id, communicator sizes { ranks, message sizes { bytes, algorithm, fan-out,
//     segment bytes } } }
// The rule with the largest number up to the call's holds, so a default (algorithm 0) ends each
// range. A communicator smaller than the first size gets the first rule, so 0 is always there.
namespace tutti {
namespace {

constexpr struct {
    Collective collective;
    int id;
} ids_of_collectives[] = {
    {Collective::all_gather, 0}, {Collective::all_reduce, 2}, {Collective::all_to_all, 3},
    {Collective::barrier, 6},    {Collective::broadcast, 7},  {Collective::exscan, 8},
    {Collective::gather, 9},     {Collective::reduce, 11},    {Collective::reduce_scatter, 13},
    {Collective::scan, 14},      {Collective::scatter, 15},
};

const ExportedCell no_rules{};

// Returns the cells by the number of ranks from which they hold: each up to the next one.
std::map<int, const ExportedCell*> cells_by_ranks(const std::vector<ExportedCell>& cells,
                                                  Collective collective, int least_ranks) {
    std::map<int, const ExportedCell*> from{{least_ranks, &no_rules}};
    for (const ExportedCell& cell : cells) {
        if (cell.collective != collective || named_rules(cell).empty()) continue;
        from[cell.job_shape.ranks] = &cell;
        from.try_emplace(cell.job_shape.ranks + 1, &no_rules);
    }
    return from;
}

// Returns a line for each size, as the library counts it, from which something else holds.
template <class TextOfRule>
std::vector<std::string> message_rules(const ExportedCell& cell, std::int64_t blocks,
                                       std::string_view library_decides,
                                       const TextOfRule& text_of_rule) {
    std::vector<std::pair<std::int64_t, std::string>> rules;
    const auto add = [&](Bytes from, std::string text) {
        const std::int64_t size = divide_up(from.count, blocks);
        if (!rules.empty() && rules.back().first == size) rules.pop_back();
        if (rules.empty() || rules.back().second != text) rules.emplace_back(size, std::move(text));
    };
    add({0}, std::string(library_decides));
    for (const ExportedRule& rule : named_rules(cell)) {
        add(rule.from, text_of_rule(rule));
        if (!is_open_ended(rule)) add(rule.end, std::string(library_decides));
    }
    std::vector<std::string> lines;
    for (const auto& [size, text] : rules) lines.push_back(fmt::format("{} {}", size, text));
    return lines;
}

std::string text_of(int ranks, const std::vector<std::string>& rules) {
    return fmt::format("  {} {}\n    {}\n", ranks, rules.size(), fmt::join(rules, "\n    "));
}

}  // namespace

std::string write_open_mpi(
    const std::vector<ExportedCell>& cells,
    const std::function<std::string(const ExportedCell&, const ExportedRule&)>& id_of) {
    int collectives = 0;
    std::string text;
    for (const auto& [collective, id] : ids_of_collectives) {
        const auto from = cells_by_ranks(cells, collective, 0);
        if (from.size() == 1) continue;
        ++collectives;
        text += fmt::format("{}  # {}\n{}  # communicator sizes\n", id,
                            name_in(mpi_names, collective), from.size());
        for (const auto& [ranks, cell] : from)
            text += text_of(ranks, message_rules(*cell, 1, "0 0 0", [&](const ExportedRule& rule) {
                                return fmt::format("{} {} {}", id_of(*cell, rule), rule.fan_out,
                                                   rule.segment.count);
                            }));
    }
    return fmt::format("{}  # collectives\n{}", collectives, text);
}

std::string write_open_mpi(const Export& exported) {
    return write_open_mpi(exported.cells, [](const ExportedCell&, const ExportedRule& rule) {
        return std::string(rule.algorithm->id);
    });
}

// Rules of HAN: the same form, with names, and the level of HAN's hierarchy at which they hold (2:
// all ranks). Sizes are those of one rank's block. HAN itself is the default. Open MPI 4 crashes if
// a rule for all_reduce names another component.
std::string write_han(const Export& exported) {
    constexpr Collective of_han[] = {Collective::all_gather, Collective::all_reduce,
                                     Collective::all_to_all, Collective::barrier,
                                     Collective::broadcast,  Collective::gather,
                                     Collective::reduce,     Collective::scatter};
    int collectives = 0;
    std::string text;
    for (const Collective collective : of_han) {
        const auto from = cells_by_ranks(exported.cells, collective, 1);
        if (from.size() == 1) continue;
        ++collectives;
        text += fmt::format("{}\n1  # level\n2 {}  # all ranks, communicator sizes\n",
                            name_in(mpi_names, collective), from.size());
        for (const auto& [ranks, cell] : from)
            text += text_of(ranks, message_rules(*cell, has_blocks(collective) ? ranks : 1, "han",
                                                 [](const ExportedRule& rule) {
                                                     return std::string(rule.algorithm->id);
                                                 }));
    }
    return fmt::format("{}  # collectives\n{}", collectives, text);
}

// Open MPI 6 shifts the communicator sizes of the older form by one entry. Its JSON has ranges and
// needs no default: calls without a rule keep the library's choice. Names of collectives are those
// that its parser takes, not those of its schema.
std::string write_open_mpi_json(const Export& exported) {
    Json collectives = Json::object();
    for (const ExportedCell& cell : exported.cells) {
        Json rules = Json::array();
        for (const ExportedRule& rule : named_rules(cell)) {
            Json one = {
                {"msg_size_min", rule.from.count},
                {"msg_size_max", is_open_ended(rule) ? Json("inf") : Json(rule.end.count - 1)},
                {"alg", *decimal_number(rule.algorithm->id)}};
            if (rule.fan_out > 0) one["faninout"] = rule.fan_out;
            if (rule.segment.count > 0) one["seg_size"] = rule.segment.count;
            rules.push_back(std::move(one));
        }
        if (rules.empty()) continue;
        const int ranks = cell.job_shape.ranks;
        collectives[std::string(name_in(mpi_names, cell.collective))].push_back(
            {{"comm_size_min", ranks}, {"comm_size_max", ranks}, {"rules", std::move(rules)}});
    }
    const Json file = {
        {"rule_file_version", 3}, {"module", "tuned"}, {"collectives", std::move(collectives)}};
    return file.dump(1) + "\n";
}

}  // namespace tutti
