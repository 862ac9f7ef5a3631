// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "workloads/traces/trace.hpp"

namespace tutti {

/// Names as recorders write them: "float32", "c10::BFloat16", "Tensor(long int)". Throws Error
/// naming the known ones.
DataType type_of_trace(std::string_view name);
/// As PyTorch calls it.
std::string_view trace_name_of(DataType type);

/// "fwd", "backward", "opt", "data" ...; what is something else counts as backward.
Task::Phase phase_of_trace(std::string_view name);
std::string_view trace_name_of(Task::Phase phase);

/// What an op is by its name: "allreduce", "_allgather_base", "all_to_allv", "wait" ...
struct OpName {
    TraceOp::Kind kind;
    Collective collective = Collective::all_reduce;
};
/// Throws Error naming the known ones.
OpName op_of_trace(std::string_view name);

}  // namespace tutti
