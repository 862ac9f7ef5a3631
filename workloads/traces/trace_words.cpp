// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "base/name_table.hpp"
#include "workloads/traces/trace_forms.hpp"

namespace tutti {
namespace {

// The first name of a type is the one that is written.
constexpr Named<DataType> types[] = {
    {DataType::float32, "float32"},   {DataType::float32, "float"},
    {DataType::float64, "float64"},   {DataType::float64, "double"},
    {DataType::half, "float16"},      {DataType::half, "half"},
    {DataType::bfloat16, "bfloat16"}, {DataType::int64, "int64"},
    {DataType::int64, "long"},        {DataType::int64, "long int"},
    {DataType::int32, "int32"},       {DataType::int32, "int"},
    {DataType::int16, "int16"},       {DataType::int16, "short"},
    {DataType::int8, "int8"},         {DataType::int8, "char"},
    {DataType::uint8, "uint8"},       {DataType::uint8, "byte"},
    {DataType::uint8, "bool"},        {DataType::uint8, "unsigned char"},
    {DataType::uint16, "uint16"},     {DataType::uint32, "uint32"},
    {DataType::uint64, "uint64"},     {DataType::fp8_e4m3, "float8_e4m3fn"},
    {DataType::fp8_e4m3, "fp8_e4m3"}, {DataType::fp8_e5m2, "float8_e5m2"},
    {DataType::fp8_e5m2, "fp8_e5m2"},
};

constexpr Named<Task::Phase> phases[] = {
    {Task::Phase::forward, "fwd"},   {Task::Phase::forward, "forward"},
    {Task::Phase::forward, "data"},  {Task::Phase::backward, "bwd"},
    {Task::Phase::optimizer, "opt"}, {Task::Phase::optimizer, "optimizer"},
};

constexpr OpName collective(Collective what) { return {TraceOp::Kind::collective, what}; }

constexpr Named<OpName> ops[] = {
    {collective(Collective::all_reduce), "all_reduce"},
    {collective(Collective::all_reduce), "allreduce"},
    {collective(Collective::all_reduce), "allreduce_coalesced"},
    {collective(Collective::all_gather), "all_gather"},
    {collective(Collective::all_gather), "allgather"},
    {collective(Collective::all_gather), "allgather_base"},
    {collective(Collective::all_gather), "all_gather_base"},
    {collective(Collective::all_gather), "allgather_into_tensor_coalesced"},
    {collective(Collective::reduce_scatter), "reduce_scatter"},
    {collective(Collective::reduce_scatter), "reducescatter"},
    {collective(Collective::reduce_scatter), "reduce_scatter_base"},
    {collective(Collective::reduce_scatter), "reduce_scatter_tensor_coalesced"},
    {collective(Collective::all_to_all), "all_to_all"},
    {collective(Collective::all_to_all), "alltoall"},
    {collective(Collective::all_to_all), "all_to_all_single"},
    {collective(Collective::all_to_all), "all_to_allv"},
    {collective(Collective::all_to_all), "alltoallv"},
    {collective(Collective::broadcast), "broadcast"},
    {collective(Collective::reduce), "reduce"},
    {collective(Collective::gather), "gather"},
    {collective(Collective::scatter), "scatter"},
    {{TraceOp::Kind::barrier}, "barrier"},
    {{TraceOp::Kind::send}, "send"},
    {{TraceOp::Kind::send}, "isend"},
    {{TraceOp::Kind::recv}, "recv"},
    {{TraceOp::Kind::recv}, "irecv"},
    {{TraceOp::Kind::wait}, "wait"},
    {{TraceOp::Kind::compute}, "compute"},
};

std::string in_small_letters(std::string_view name) {
    std::string small(name);
    std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
    return small;
}

}  // namespace

DataType type_of_trace(std::string_view name) {
    std::string small = in_small_letters(name);
    if (small.starts_with("tensor(") && small.ends_with(")"))
        small = small.substr(7, small.size() - 8);
    for (const std::string_view prefix : {"torch.", "c10::"})
        if (small.starts_with(prefix)) small = small.substr(prefix.size());
    return parse_from(types, "type", small);
}

std::string_view trace_name_of(DataType type) { return name_in(types, type); }

Task::Phase phase_of_trace(std::string_view name) {
    const auto* known = find_in(phases, name);
    return known != nullptr ? known->value : Task::Phase::backward;
}

std::string_view trace_name_of(Task::Phase phase) { return name_in(phases, phase); }

OpName op_of_trace(std::string_view name) {
    std::string small = in_small_letters(name);
    small.erase(
        0, small.find_first_not_of('_') == std::string::npos ? 0 : small.find_first_not_of('_'));
    return parse_from(ops, "op", small);
}

}  // namespace tutti
