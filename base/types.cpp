// SPDX-License-Identifier: Apache-2.0
#include "base/types.hpp"

#include <algorithm>

#include "base/busiest_share.hpp"
#include "base/name_table.hpp"
#include "base/with_type.hpp"

namespace tutti {
namespace {

constexpr Named<DataType> type_names[] = {
    {DataType::int8, "int8"},         {DataType::int16, "int16"},
    {DataType::int32, "int32"},       {DataType::int64, "int64"},
    {DataType::uint8, "uint8"},       {DataType::uint16, "uint16"},
    {DataType::uint32, "uint32"},     {DataType::uint64, "uint64"},
    {DataType::fp8_e4m3, "fp8_e4m3"}, {DataType::fp8_e5m2, "fp8_e5m2"},
    {DataType::half, "half"},         {DataType::bfloat16, "bfloat16"},
    {DataType::float32, "float"},     {DataType::float64, "double"},
};

// Names that other tools use.
constexpr Named<DataType> type_aliases[] = {
    {DataType::half, "fp16"},       {DataType::half, "float16"},    {DataType::bfloat16, "bf16"},
    {DataType::float32, "fp32"},    {DataType::float32, "float32"}, {DataType::float64, "fp64"},
    {DataType::float64, "float64"}, {DataType::fp8_e4m3, "f8e4m3"}, {DataType::fp8_e5m2, "f8e5m2"},
};

constexpr Named<Op> op_names[] = {
    {Op::sum, "sum"}, {Op::prod, "prod"}, {Op::min, "min"}, {Op::max, "max"}, {Op::avg, "avg"},
};

constexpr Named<Collective> collective_names[] = {
    {Collective::all_reduce, "all_reduce"}, {Collective::reduce_scatter, "reduce_scatter"},
    {Collective::all_gather, "all_gather"}, {Collective::broadcast, "broadcast"},
    {Collective::reduce, "reduce"},         {Collective::scatter, "scatter"},
    {Collective::gather, "gather"},         {Collective::all_to_all, "all_to_all"},
    {Collective::barrier, "barrier"},       {Collective::scan, "scan"},
    {Collective::exscan, "exscan"},
};

template <class Value, std::size_t size>
std::span<const Value> values_of(const Named<Value> (&table)[size]) {
    static const auto values = [&] {
        std::array<Value, size> all{};
        for (std::size_t i = 0; i < size; ++i) all[i] = table[i].value;
        return all;
    }();
    return values;
}

}  // namespace

std::string_view name_of(DataType type) { return name_in(type_names, type); }
std::string_view name_of(Op op) { return name_in(op_names, op); }
std::string_view name_of(Collective collective) { return name_in(collective_names, collective); }

DataType parse_data_type(std::string_view text) {
    if (const auto* alias = find_in(type_aliases, text)) return alias->value;
    return parse_from(type_names, "data type", text);
}

Op parse_op(std::string_view text) { return parse_from(op_names, "operation", text); }

Collective parse_collective(std::string_view text) {
    return parse_from(collective_names, "collective", text);
}

std::span<const DataType> all_data_types() { return values_of(type_names); }
std::span<const Op> all_ops() { return values_of(op_names); }
std::span<const Collective> all_collectives() { return values_of(collective_names); }

static_assert(std::ranges::all_of(type_names, [](const auto& row) {
    return size_of(row.value) == with_type(row.value, []<class T>() { return sizeof(T); });
}));

double busiest_share(Collective collective, int ranks) {
    const double others = static_cast<double>(ranks - 1) / ranks;  // all but a rank's own part
    switch (collective) {
        case Collective::all_reduce:
            return 2 * others;  // reduce_scatter, then all_gather
        case Collective::reduce_scatter:
        case Collective::all_gather:
        case Collective::scatter:
        case Collective::gather:
        case Collective::all_to_all:
            return others;
        case Collective::broadcast:
        case Collective::reduce:
        case Collective::scan:
        case Collective::exscan:
            return 1;
        case Collective::barrier:
            return 0;
    }
    return 0;
}

}  // namespace tutti
