// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "cli/options/named_words.hpp"
#include "cli/options/run_options.hpp"
#include "workloads/compress/compressed_method.hpp"
#include "workloads/scenarios/workload.hpp"

namespace tutti {

/// The options of 'tutti workload', checked as far as possible without ranks.
struct WorkloadOptions {
    const Workload* workload = nullptr;
    Settings settings{{}, {}};
    SearchSpace search_space;
    NamedWords named;
    bool chooses = false;  ///< auto: choose by a table
    std::string table_file = "tutti-table.json";
    bool table_must_be =
        false;  ///< a table was named; otherwise built-in rules replace a missing one
    bool table_anyway = false;
    std::vector<Compression> compressions;  ///< besides none
    Skew skew;
    ComputeMode compute = ComputeMode::sleep;
    std::optional<BufferKind> buffers;
    StepProtocol protocol;
    RunOptions run;
};

/// Returns nothing if help or the list of models was printed. Throws Error.
std::optional<WorkloadOptions> parse_workload(const Arguments& arguments);

}  // namespace tutti
