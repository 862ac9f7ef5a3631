// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "autotune/tuner/tuner.hpp"
#include "cli/options/named_words.hpp"
#include "cli/options/run_options.hpp"

namespace tutti {

/// What 'tutti tune' was asked for, checked as far as that is possible without the ranks.
struct TuneOptions {
    /// Measure on ranks; or do something with tables that exist.
    enum class Job { tune, hold_out, model_only, explain, merge } job = Job::tune;
    NamedWords named;
    TuneRequest request;                          ///< but for what depends on the ranks
    std::string table_file = "tutti-table.json";  ///< written, or read and improved
    std::vector<std::string> inputs;              ///< of explain and merge
    std::string svg_file;                         ///< of explain
    std::vector<int> rank_counts;                 ///< of model_only
    int ranks_per_host = 0;                       ///< of model_only; 0: all on one
    bool keeps_anyway = false;                    ///< the model, although others use the cores
    std::string model;                            ///< measure, stored or none
    bool resume = false;
    RunOptions run;

    bool measures() const { return job == Job::tune || job == Job::hold_out; }
    bool has_library() const;  ///< to hold choices against
};

/// Nothing if help was asked for (and printed). Throws Error.
std::optional<TuneOptions> parse_tune(const Arguments& arguments);

}  // namespace tutti
