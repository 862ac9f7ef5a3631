// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "autotune/exports/export.hpp"
#include "base/name_table.hpp"
#include "base/rounding.hpp"
#include "collectives/baselines/mpi_names.hpp"

// Libraries whose choices are environment variables: files for a shell's `.`.
namespace tutti {
namespace {

std::string in_capitals(std::string_view name) {
    std::string text(name);
    for (char& letter : text)
        if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    return text;
}

// Collects the rules of each collective for one variable per collective.
using TextsByCollective = std::map<Collective, std::vector<std::string>>;

std::string exported_variables(const TextsByCollective& texts, std::string_view prefix) {
    std::string lines;
    for (const auto& [collective, rules] : texts)
        lines += fmt::format("export {}{}='{}'\n", prefix,
                             in_capitals(name_in(mpi_names, collective)), fmt::join(rules, ";"));
    return lines;
}

}  // namespace

std::string write_ucc(const std::vector<ExportedCell>& cells,
                      const std::function<bool(const ExportedCell&, const ExportedRule&)>& is_off) {
    std::vector<std::string> tokens;
    for (const ExportedCell& cell : cells)
        for (const ExportedRule& rule : named_rules(cell)) {
            // A rank's destination of a reduce_scatter is one block.
            const std::int64_t blocks =
                cell.collective == Collective::reduce_scatter ? cell.job_shape.ranks : 1;
            const auto bytes = [&](Bytes size) { return divide_up(size.count, blocks); };
            // Both ends of a range belong to it. But where a range with score 0 meets another one,
            // the shared end is the other one's, so a disabled range is a byte wider on each side.
            const bool off = is_off(cell, rule);
            const std::int64_t from = std::max<std::int64_t>(bytes(rule.from) - (off ? 1 : 0), 0);
            const std::string last =
                is_open_ended(rule) ? "inf" : std::to_string(bytes(rule.end) - (off ? 0 : 1));
            tokens.push_back(fmt::format("{}:{}-{}:[{}]:{}", name_without_blocks(cell.collective),
                                         from, last, cell.job_shape.ranks,
                                         off ? "0" : fmt::format("@{}:inf", rule.algorithm->id)));
        }
    if (tokens.empty()) return "";
    return fmt::format("export UCC_TL_UCP_TUNE='{}'\n", fmt::join(tokens, "#"));
}

std::string write_ucc(const Export& exported) {
    return write_ucc(exported.cells,
                     [](const ExportedCell&, const ExportedRule&) { return false; });
}

std::string write_oneccl(const Export& exported) {
    TextsByCollective texts;
    for (const ExportedCell& cell : exported.cells) {
        if (cell.job_shape.ranks != exported.cells.front().job_shape.ranks)
            throw Error(fmt::format(
                "the variables of oneCCL hold for every number of ranks, but the table has {} and "
                "{}; select one, for example --ranks {}",
                exported.cells.front().job_shape.ranks, cell.job_shape.ranks,
                cell.job_shape.ranks));
        for (const ExportedRule& rule : named_rules(cell))
            texts[cell.collective].push_back(
                fmt::format("{}:{}-{}", rule.algorithm->id, rule.from.count,
                            is_open_ended(rule) ? "max" : std::to_string(rule.end.count - 1)));
    }
    return exported_variables(texts, "CCL_");
}

std::string write_intel_mpi(const Export& exported) {
    TextsByCollective texts;
    for (const ExportedCell& cell : exported.cells)
        for (const ExportedRule& rule : named_rules(cell))
            texts[cell.collective].push_back(fmt::format("{0}:{1}-{2}@{3}-{3}", rule.algorithm->id,
                                                         rule.from.count, rule.end.count - 1,
                                                         cell.job_shape.ranks));
    return exported_variables(texts, "I_MPI_ADJUST_");
}

}  // namespace tutti
