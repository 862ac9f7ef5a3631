// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "workloads/traces/json_fields.hpp"
#include "workloads/traces/trace.hpp"

namespace tutti {

constexpr std::string_view trace_schema = "gradtrace/1";

// Each form of a trace. They throw Error naming file and line.
GradientTrace gradients_of(const Fields& document);
OpsTrace ops_of(const Fields& document);
/// Recorded calls of each rank with the times of their launch on one clock (kind "comms").
OpsTrace comms_of(const Fields& document);

/// A parsed file, one for each rank.
struct RankFile {
    Source source;  ///< its name
    JsonValue document;
};
/// PARAM's commsTraceReplay: a list of calls and computing. `note` gets what was left out.
OpsTrace ops_of_param(const std::vector<RankFile>& files, std::string& note);
/// Chakra: the nodes record_param_comms of an execution trace, which has no times.
OpsTrace ops_of_chakra(const std::vector<RankFile>& files, std::string& note);

}  // namespace tutti
