// SPDX-License-Identifier: Apache-2.0
#include "cli/choosers.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "autotune/table/table_for_ranks.hpp"
#include "autotune/table/table_json.hpp"
#include "autotune/table/verdict.hpp"
#include "cli/version.hpp"

namespace tutti {

Choosers::Choosers(World& world, const BenchOptions& options, std::vector<std::string>& notes)
    : world_(world), file_(options.table_file) {
    for (const std::string& name : options.choosing) {
        const bool learns = name == "learn";
        std::optional<Table> table;
        if (!learns || from_rank0(world, std::filesystem::exists(file_))) {
            table = table_for_ranks(world, file_, {.anyway = options.table_anyway});
            notes.push_back(
                fmt::format("{}: {}", name, source_in_words(*table, file_, options.sweep.buffers)));
        }
        all_.push_back(learns ? candidate_that_learns(world, table, options.learning_bound)
                              : candidate_by_table(world, *table));
        learns_ = learns_ || learns;
    }
}

void Choosers::add_to(std::vector<Candidate>& candidates) const {
    for (const CommunicatorCandidate& one : all_) candidates.push_back(one.candidate);
}

void Choosers::end() const {
    if (!learns_) return;
    Table table;
    if (world_.is_first() && std::filesystem::exists(file_)) table = read_table(file_);
    for (const CommunicatorCandidate& one : all_) overlay(table, one.learnt());
    if (!world_.is_first()) return;
    table.tool = version();
    keep_table(table, file_);
    fmt::print("# what was learnt is in {}\n", file_);
}

}  // namespace tutti
