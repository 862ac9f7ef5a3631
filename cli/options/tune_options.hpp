// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "autotune/exports/export.hpp"
#include "autotune/tuner/tuner.hpp"
#include "cli/options/named_words.hpp"
#include "cli/options/run_options.hpp"

namespace tutti {

/// The options of 'tutti tune', checked as far as possible without ranks.
struct TuneOptions {
    /// Jobs: measuring on ranks (tune, hold_out), or working with existing tables.
    enum class Job { tune, hold_out, model_only, explain, merge } job = Job::tune;
    NamedWords named;
    TuneRequest request;                          ///< without what depends on the ranks
    std::string table_file = "tutti-table.json";  ///< written, or read and updated
    std::vector<std::string> inputs;              ///< tables of explain and merge
    std::string svg_file;                         ///< drawing of explain
    std::vector<int> rank_counts;                 ///< for model_only
    int ranks_per_host = 0;                       ///< for model_only; 0: all on one host
    bool keeps_anyway = false;  ///< keep the model although other programs used the cores
    std::string model;          ///< measure, stored or none
    bool resume = false;
    /// Tune this library itself, and write its file; nullopt: tune tutti
    std::optional<ForeignLibrary> library;
    std::string library_file;          ///< empty: named after the library
    std::string listen = "127.0.0.1";  ///< where jobs without and with that file meet
    ExportSettings exported;
    RunOptions run;

    bool measures() const { return job == Job::tune || job == Job::hold_out; }
    bool has_library() const;  ///< true if choices can be validated against a library
};

/// Returns nothing if help was printed. Throws Error.
std::optional<TuneOptions> parse_tune(const Arguments& arguments);

}  // namespace tutti
