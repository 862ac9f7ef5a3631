// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>

#include "base/name_table.hpp"
#include "base/source.hpp"
#include "workloads/traces/trace_forms.hpp"

namespace tutti {
namespace {

// The first name of a type is the one that is written.
constexpr Named<DataType> types[] = {
    {DataType::float32, "float32"},
    {DataType::float32, "float"},
    {DataType::float64, "float64"},
    {DataType::float64, "double"},
    {DataType::half, "float16"},
    {DataType::half, "half"},
    {DataType::bfloat16, "bfloat16"},
    {DataType::int64, "int64"},
    {DataType::int64, "long"},
    {DataType::int64, "long int"},
    {DataType::int32, "int32"},
    {DataType::int32, "int"},
    {DataType::int16, "int16"},
    {DataType::int16, "short"},
    {DataType::int8, "int8"},
    {DataType::int8, "char"},
    {DataType::uint8, "uint8"},
    {DataType::uint8, "byte"},
    {DataType::uint8, "bool"},
    {DataType::uint8, "unsigned char"},
    {DataType::uint16, "uint16"},
    {DataType::uint16, "unsigned short"},
    {DataType::uint32, "uint32"},
    {DataType::uint32, "unsigned int"},
    {DataType::uint32, "unsigned"},
    {DataType::uint64, "uint64"},
    {DataType::uint64, "unsigned long"},
    {DataType::uint64, "unsigned long int"},
    {DataType::uint64, "unsigned long long"},
    {DataType::uint64, "unsigned long long int"},
    {DataType::int64, "long long"},
    {DataType::int64, "long long int"},
    {DataType::int16, "short int"},
    {DataType::uint16, "unsigned short int"},
    {DataType::int8, "signed char"},
    {DataType::int8, "qint8"},
    {DataType::uint8, "quint8"},
    {DataType::int32, "qint32"},
    {DataType::uint8, "bits8"},
    {DataType::float32, "fp32"},
    {DataType::half, "fp16"},
    {DataType::bfloat16, "bf16"},
    {DataType::fp8_e4m3, "float8_e4m3fn"},
    {DataType::fp8_e4m3, "fp8_e4m3"},
    {DataType::fp8_e4m3, "float8_e4m3"},
    {DataType::fp8_e4m3, "float8_e4m3fnuz"},
    {DataType::fp8_e4m3, "float8_e4m3b11fnuz"},
    {DataType::fp8_e4m3, "fp8_e4m3fn"},
    {DataType::fp8_e5m2, "float8_e5m2"},
    {DataType::fp8_e5m2, "fp8_e5m2"},
    {DataType::fp8_e5m2, "float8_e5m2fnuz"},
    {DataType::uint8, "float8_e8m0fnu"},
    {DataType::uint8, "float4_e2m1fn_x2"},
};

constexpr Named<Task::Phase> phases[] = {
    {Task::Phase::forward, "fwd"},   {Task::Phase::forward, "forward"},
    {Task::Phase::forward, "data"},  {Task::Phase::backward, "bwd"},
    {Task::Phase::optimizer, "opt"}, {Task::Phase::optimizer, "optimizer"},
};

constexpr OpName collective(Collective what) { return {TraceOp::Kind::collective, what}; }

// Names in small letters without marks. Endings such as "base" are not part of them.
constexpr Named<OpName> ops[] = {
    {collective(Collective::all_reduce), "allreduce"},
    {collective(Collective::all_gather), "allgather"},
    {collective(Collective::reduce_scatter), "reducescatter"},
    {collective(Collective::all_to_all), "alltoall"},
    {collective(Collective::broadcast), "broadcast"},
    {collective(Collective::reduce), "reduce"},
    {collective(Collective::gather), "gather"},
    {collective(Collective::scatter), "scatter"},
    {collective(Collective::scan), "scan"},
    {collective(Collective::exscan), "exscan"},
    {collective(Collective::barrier), "barrier"},
    {collective(Collective::barrier), "monitoredbarrier"},
    {collective(Collective::barrier), "allreducebarrier"},
    {{TraceOp::Kind::send}, "send"},
    {{TraceOp::Kind::send}, "isend"},
    {{TraceOp::Kind::recv}, "recv"},
    {{TraceOp::Kind::recv}, "irecv"},
    {{TraceOp::Kind::wait}, "wait"},
    {{TraceOp::Kind::compute}, "compute"},
};

// PyTorch and PARAM append these to the name of an operation, one after the other.
constexpr std::string_view endings[] = {"coalesced", "base",   "single", "oop", "intotensor",
                                        "tensor",    "uneven", "block",  "v"};

// Returns "allgatherintotensorcoalesced" for "nccl:_all_gather_into_tensor_coalesced".
std::string without_marks_of_op(std::string_view name) {
    const std::size_t backend = name.rfind(':');
    if (backend != name.npos) name.remove_prefix(backend + 1);
    if (const std::size_t peers = name.find(' '); peers != name.npos)
        name = name.substr(0, peers);  // "send 0->1"
    std::string small;
    for (const unsigned char c : name)
        if (c != '_' && c != '-') small += static_cast<char>(std::tolower(c));
    return small;
}

}  // namespace

DataType type_of_trace(std::string_view name) {
    std::string small = in_lower_case(name);
    if (small.starts_with("tensor(") && small.ends_with(")"))
        small = small.substr(7, small.size() - 8);
    for (const std::string_view prefix : {"torch.", "c10::", "at::", "std::"})
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
    std::string small = without_marks_of_op(name);
    const auto has_ending = [&](std::string_view end) { return small.ends_with(end); };
    while (find_in(ops, small) == nullptr) {
        const auto end = std::ranges::find_if(endings, has_ending);
        if (end == std::end(endings)) break;
        small.erase(small.size() - end->size());
    }
    const auto* known = find_in(ops, small);
    return known != nullptr ? known->value : parse_from(ops, "op", name);
}

ComplexType complex_type_of_trace(std::string_view name) {
    std::string small = in_lower_case(name);
    if (small.starts_with("tensor(") && small.ends_with(")"))
        small = small.substr(7, small.size() - 8);
    if (small.starts_with("c10::")) small = small.substr(5);
    for (const auto& [names, type] :
         {std::pair{std::array{"complex32", "complexhalf", "complex<half>", "complex<c10::half>"},
                    "float16"},
          {{"complex64", "complexfloat", "complex<float>", "complex"}, "float32"},
          {{"complex128", "complexdouble", "complex<double>", "complex double"}, "float64"}})
        if (std::ranges::find(names, small) != names.end()) return {type, 2};
    return {std::string(name), 1};
}

}  // namespace tutti
