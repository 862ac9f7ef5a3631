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

/// What 'tutti bench' was asked for, checked as far as that is possible without the ranks.
struct BenchOptions {
    SearchSpace search_space;
    NamedWords named;
    Sweep sweep;               ///< but for its candidates, and what depends on the number of ranks
    std::optional<Rank> root;  ///< none: all
    RunOptions run;
    std::optional<Fault> fault;
    unsigned runs_on_devices = 1;       ///< with one launch
    std::optional<Bytes> stream_from;   ///< instead of what limits say
    std::vector<std::string> choosing;  ///< auto, learn: by the library instead of by name
    std::string table_file = "tutti-table.json";
    bool table_is_named = false;  ///< else auto needs no file
    bool table_anyway = false;
    double learning_bound = 0;
    std::string model = "stored";  ///< see choose_model
    std::string like = "tutti";    ///< the form of the output, see make_output
    std::string output_file;       ///< in that form, if it is not tutti's
    std::string csv_file;
    std::string timeline_file;
    bool keep_samples = false;
    bool all_rows = false;  ///< of the table on stdout
    bool numerics = false;  ///< of sums, see SumExaminer
    std::string turns;      ///< where 'tutti compare' waits, "HOST:PORT/KEY"; empty: alone
};

/// Nothing if help was asked for. Throws Error with what to type instead.
std::optional<BenchOptions> parse_bench(Arguments arguments);

}  // namespace tutti
