// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#pragma GCC visibility push(default)
namespace tutti {

/// Element type of a message. `half` is IEEE binary16, `bfloat16` the upper half of a float; for
/// the 8-bit floats see base/floats.hpp.
enum class DataType {
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    fp8_e4m3,
    fp8_e5m2,
    half,
    bfloat16,
    float32,
    float64
};

/// Reduction. Integers wrap around; `avg` is the sum divided by the number of ranks (integers
/// truncate towards zero).
enum class Op { sum, prod, min, max, avg };

/// Kind of collective; see `CollectiveSpec` in collectives/schedule.
enum class Collective {
    all_reduce,
    reduce_scatter,
    all_gather,
    broadcast,
    reduce,
    scatter,
    gather,
    all_to_all,
    barrier,
    scan,
    exscan
};

// Names are those of nccl-tests: `float` and `double` for float32 and float64.
std::string_view name_of(DataType type);
std::string_view name_of(Op op);
std::string_view name_of(Collective collective);

// Throw Error with the known names if `text` is not one. Types also accept fp16, bf16, fp32, fp64,
// f8e4m3 and f8e5m2.
DataType parse_data_type(std::string_view text);
Op parse_op(std::string_view text);
Collective parse_collective(std::string_view text);

std::span<const DataType> all_data_types();
std::span<const Op> all_ops();
std::span<const Collective> all_collectives();

/// Returns the bytes of one element.
std::size_t size_of(DataType type);

/// Whether the collective combines data (all_reduce, reduce_scatter, reduce, scan, exscan) instead
/// of moving it.
bool reduces(Collective collective);

/// Whether ranks pass buffers to the collective: all but barrier.
bool has_buffers(Collective collective);

/// Whether a rank's result depends on the ranks before it, so that their order counts (scan,
/// exscan).
bool is_prefix(Collective collective);

/// Whether one rank is the root (broadcast, reduce, scatter, gather).
bool has_root(Collective collective);

}  // namespace tutti
#pragma GCC visibility pop
