// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/options/tune_options.hpp"

namespace tutti {

/// Tunes with several launches. Each searches on its own; the common result is then validated
/// against the library in the same number of launches. Table and samples of each launch are kept in
/// the folder FILE.launches, and FILE is updated after each launch. Throws Error, with its exit
/// code, if a launch fails.
Exit tune_launches(const TuneOptions& options);

/// The result of several launches that searched.
struct SearchedTable {
    Table found;  ///< without what the file had before
    bool any_wrong = false;
};
/// Searches as tune_launches does, without the validation.
SearchedTable search_in_launches(const TuneOptions& options);

/// Tunes the MPI library itself: searches its algorithms, writes its file, and compares jobs
/// without and with the file. Choices that do not gain in both comparisons are taken out. Throws
/// Error.
Exit tune_library(const TuneOptions& options);
/// Returns the format of the file that the MPI library of this build reads. Throws Error if it is
/// another library, or has no such file.
const ExportFormat& format_of_library(ForeignLibrary library);

// Jobs of 'tutti tune' that need no ranks. All throw Error.
Exit explain_tables(const TuneOptions& options);
Exit merge_tables(const TuneOptions& options);
/// Writes a table from the model of --table, or of this machine's last measurement.
Exit predict_table(const TuneOptions& options);

}  // namespace tutti
