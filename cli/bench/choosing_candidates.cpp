// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/choosing_candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "autotune/table/table_for_ranks.hpp"
#include "autotune/table/table_json.hpp"
#include "autotune/table/verdict.hpp"
#include "cli/build_info.hpp"

namespace tutti {

ChoosingCandidates::ChoosingCandidates(World& world, const BenchOptions& options,
                                       std::vector<std::string>& notes)
    : world_(world), file_(options.table_file) {
    if (options.choosing.empty()) return;
    // 'learn' can begin without a table; it writes one at the end.
    const bool needs_table = options.table_is_named &&
                             std::ranges::find(options.choosing, "auto") != options.choosing.end();
    const bool is_there = has_table(world, file_, needs_table);
    for (const std::string& name : options.choosing) {
        const bool learns = name == "learn";
        std::optional<Table> table;
        if (is_there || (options.table_is_named && !learns)) {
            table = table_for_ranks(world, file_, {.anyway = options.table_anyway});
            notes.push_back(
                fmt::format("{}: {}", name, source_in_words(*table, file_, options.sweep.buffers)));
        } else if (!learns) {
            notes.push_back(fmt::format(
                "{}: by the built-in rules; 'tutti tune' writes a table that knows better", name));
        }
        all_.push_back(learns ? candidate_that_learns(world, table, options.learning_bound)
                              : candidate_by_table(world, table));
        learns_ = learns_ || learns;
    }
}

void ChoosingCandidates::add_to(std::vector<Candidate>& candidates) const {
    for (const CommunicatorCandidate& one : all_) candidates.push_back(one.candidate);
}

void ChoosingCandidates::end(Reporter& reporter) const {
    if (!learns_) return;
    Table table;
    if (world_.is_first() && std::filesystem::exists(file_)) table = read_table(file_);
    for (const CommunicatorCandidate& one : all_) overlay(table, one.learnt());
    if (!world_.is_first()) return;
    if (table.sections.empty())
        return reporter.print("# learn: no measurements; no table was written\n");
    table.tool = version();
    keep_table(table, file_);
    reporter.print(fmt::format("# what was learnt is in {}\n", file_));
}

}  // namespace tutti
