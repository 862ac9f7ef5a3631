// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "cli/options/commands.hpp"
#include "cli/ranks/launcher.hpp"
#include "results/launch.hpp"
#include "workloads/compress/compressed_method.hpp"
#include "workloads/scenarios/workload.hpp"

namespace tutti {

/// What 'tutti workload' was asked for, checked as far as that is possible without the ranks.
struct WorkloadOptions {
    const Workload* workload = nullptr;
    Settings settings{{}, {}};
    SearchSpace search_space;
    bool chooses = false;  ///< auto: by a table
    std::string table_file;
    bool table_must_be = false;  ///< it was named; else built-in rules do without it
    bool table_anyway = false;
    std::vector<Compression> compressions;  ///< beside none
    Skew skew;
    ComputeMode compute = ComputeMode::sleep;
    std::optional<BufferKind> buffers;
    StepProtocol protocol;
    RankOptions ranks;
    bool pin = true;
    std::string limits = "stored";  ///< see choose_limits
    std::string json_file;
    TextByName as_understood;  ///< every option with its value, for the record
};

/// Nothing if help was asked for, or the list of models. Throws Error with what to type instead.
std::optional<WorkloadOptions> parse_workload(const Arguments& arguments);

}  // namespace tutti
