// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "cli/options/compare_options.hpp"

namespace tutti {

/// The arguments of 'tutti compare' as typed.
struct TypedComparison {
    std::string a, b;  ///< executables or results files
    std::vector<std::string> environment_a, environment_b;
    std::string words_a, words_b;
    std::string program_a, program_b;
    std::vector<std::string> metrics;
    bool more_is_better = false;
    double run_timeout = 0;  ///< seconds; 0: derived from the runs so far
    int ranks = 2;
    std::string launcher;
    bool threads = false;
    std::string listen = "127.0.0.1";
    int quads = 0;
    bool attributes = false;
    std::vector<std::string> written;
    std::string baseline;
    int launches = 12;
    std::vector<std::string> ignored, at_least, at_most;
};

/// Returns true for a file written by --json; false for an executable.
bool is_results_file(const std::string& path);

// Set what is measured and compared, by kind of comparison. All throw Error.

/// Compares two builds or settings of tutti, both running `common_words`.
void set_twins(const TypedComparison& typed, const std::vector<std::string>& common_words,
               CompareOptions& options);
/// Compares OLD.jsonl and NEW.jsonl, or checks the floors of one file, or runs --baseline OLD.jsonl
/// -- bench ...
void set_stored(const TypedComparison& typed, const std::vector<std::string>& common_words,
                CompareOptions& options);
/// Compares two commands that print times.
void set_programs(const TypedComparison& typed, CompareOptions& options);

}  // namespace tutti
