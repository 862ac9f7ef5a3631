// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/error.hpp"
#include "results/records/reader.hpp"

namespace tutti {

/// How records are printed.
struct TableStyle {
    bool all_rows = false;
    std::string like = "tutti";  ///< format of sweeps, see make_output
};

/// Tables of stored records, as the commands that wrote them printed them: sweeps, workload steps,
/// comparisons. Similar launches are combined into one table, as with --launches; if there are
/// several tables, the first line tells how their launches differ. Throws Error if nothing was
/// measured.
struct StoredTables {
    std::string text;
    Exit code = Exit::ok;  ///< see BenchOutput::code()
};
StoredTables stored_tables(Results results, const TableStyle& style);

}  // namespace tutti
