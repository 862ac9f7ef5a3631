// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/error.hpp"
#include "results/records/reader.hpp"

namespace tutti {

/// How records are to be printed.
struct TableStyle {
    bool all_rows = false;
    std::string like = "tutti";  ///< of sweeps; see make_output
};

/// What the records say, as the commands that wrote them have printed it: sweeps, steps of
/// workloads, comparisons. Launches that are alike are one table, as with --launches; the first
/// line says in what the others differ. Throws Error where nothing was measured.
struct StoredTables {
    std::string text;
    Exit code = Exit::ok;  ///< of BenchOutput::code()
};
StoredTables stored_tables(Results results, const TableStyle& style);

}  // namespace tutti
