// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/options/named_words.hpp"
#include "cli/options/run_options.hpp"
#include "collectives/transport/faults.hpp"
#include "workloads/bench/sweep.hpp"

namespace tutti {

/// The options of 'tutti bench', checked as far as possible without ranks.
struct BenchOptions {
    SearchSpace search_space;
    NamedWords named;
    Sweep sweep;               ///< without its candidates and what depends on the number of ranks
    std::optional<Rank> root;  ///< empty: all ranks
    RunOptions run;
    std::optional<Fault> fault;
    unsigned runs_on_devices = 1;       ///< calls per device launch
    std::optional<Bytes> stream_from;   ///< empty: as measured
    std::vector<std::string> choosing;  ///< auto, learn
    std::string table_file = "tutti-table.json";
    bool table_is_named = false;  ///< otherwise auto works without a file
    bool table_anyway = false;
    double learning_bound = 0;
    std::string model = "stored";  ///< see choose_model
    std::string like = "tutti";    ///< output format, see make_output
    std::string output_file;       ///< in the format of `like`, if that is not tutti
    std::string csv_file;
    std::string counts_file;  ///< of the lengths of blocks; empty: by rules
    std::string timeline_file;
    std::string other_nccl;               ///< file of a second NCCL library; empty: none
    std::vector<std::string> aggressors;  ///< words of 'tutti aggressor'
    bool keep_samples = false;
    bool all_rows = false;  ///< print all candidates
    bool numerics = false;  ///< report numerical accuracy, see SumExaminer
    std::string turns;      ///< "HOST:PORT" of the comparison that controls this job; empty: none
};

/// Returns nothing if help was printed. Throws Error.
std::optional<BenchOptions> parse_bench(const Arguments& arguments);

}  // namespace tutti
