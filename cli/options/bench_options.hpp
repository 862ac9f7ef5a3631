// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "cli/options/commands.hpp"
#include "cli/ranks/launcher.hpp"
#include "collectives/transport/faults.hpp"
#include "results/launch.hpp"
#include "workloads/bench/sweep.hpp"

namespace tutti {

/// What 'tutti bench' was asked for, checked as far as that is possible without the ranks.
struct BenchOptions {
    Collective collective = Collective::all_reduce;
    SearchSpace search_space;
    Sweep sweep;  ///< but for its candidates and what depends on the number of ranks
    bool all_roots = false;
    RankOptions ranks;
    std::optional<Fault> fault;
    bool pin = true;
    unsigned runs_on_devices = 1;       ///< with one launch
    std::optional<Bytes> stream_from;   ///< instead of what limits say
    std::string limits = "stored";      ///< see choose_limits
    std::vector<std::string> choosing;  ///< auto, learn: by the library instead of by name
    std::string table_file = "tutti-table.json";
    bool table_anyway = false;
    double learning_bound = 0.05;
    std::string model = "stored";  ///< see choose_model
    std::string json_file, csv_file;
    bool keep_samples = false;
    TextByName as_understood;  ///< every option with its value, for the record
};

/// Nothing if help was asked for. Throws Error with what to type instead.
std::optional<BenchOptions> parse_bench(const Arguments& arguments);

}  // namespace tutti
