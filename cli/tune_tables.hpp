// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/options/tune_options.hpp"

namespace tutti {

// What 'tutti tune' does with tables without any ranks. All throw Error.
Exit explain_tables(const TuneOptions& options);
Exit merge_tables(const TuneOptions& options);
/// A table by the model of --table, or of this machine as it was measured last.
Exit predict_table(const TuneOptions& options);

}  // namespace tutti
