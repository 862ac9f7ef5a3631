// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/options/tune_options.hpp"

namespace tutti {

/// Tunes with several launches. Each searches on its own; the common result is then validated
/// against the library in the same number of launches. Table and samples of each launch are kept in
/// the folder FILE.launches, and FILE is updated after each launch. Throws Error, with its exit
/// code, if a launch fails.
Exit tune_launches(const TuneOptions& options);

// Jobs of 'tutti tune' that need no ranks. All throw Error.
Exit explain_tables(const TuneOptions& options);
Exit merge_tables(const TuneOptions& options);
/// Writes a table from the model of --table, or of this machine's last measurement.
Exit predict_table(const TuneOptions& options);

}  // namespace tutti
