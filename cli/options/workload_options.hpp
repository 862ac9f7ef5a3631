// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "cli/options/named_words.hpp"
#include "cli/options/run_options.hpp"
#include "workloads/compress/compressed_method.hpp"
#include "workloads/scenarios/workload.hpp"

namespace tutti {

/// What 'tutti workload' was asked for, checked as far as that is possible without the ranks.
struct WorkloadOptions {
    const Workload* workload = nullptr;
    Settings settings{{}, {}};
    SearchSpace search_space;
    NamedWords named;
    bool chooses = false;  ///< auto: by a table
    std::string table_file = "tutti-table.json";
    bool table_must_be = false;  ///< it was named; else built-in rules do without it
    bool table_anyway = false;
    std::vector<Compression> compressions;  ///< beside none
    Skew skew;
    ComputeMode compute = ComputeMode::sleep;
    std::optional<BufferKind> buffers;
    StepProtocol protocol;
    RunOptions run;
};

/// Nothing if help was asked for, or the list of models. Throws Error with what to type instead.
std::optional<WorkloadOptions> parse_workload(Arguments arguments);

}  // namespace tutti
