// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/index.hpp"

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

/// Log2 of the size of an element in bytes, in the order of DataType.
inline constexpr std::uint8_t log2_of_size[] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 0, 1, 1, 2, 3};

/// Returns the bytes of one element.
constexpr std::size_t size_of(DataType type) { return std::size_t{1} << at(log2_of_size, type); }
/// Returns bytes / size_of(type), by a shift.
constexpr std::size_t elements_in(std::size_t bytes, DataType type) {
    return bytes >> at(log2_of_size, type);
}

/// Whether a rank's result depends on the ranks before it, so that their order counts.
constexpr bool is_prefix(Collective collective) {
    return collective == Collective::scan || collective == Collective::exscan;
}

/// Whether the collective combines data instead of moving it.
constexpr bool reduces(Collective collective) {
    return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
           collective == Collective::reduce || is_prefix(collective);
}

/// Whether ranks pass buffers to the collective: all but barrier.
constexpr bool has_buffers(Collective collective) { return collective != Collective::barrier; }

/// Whether one rank is the root.
constexpr bool has_root(Collective collective) {
    return collective == Collective::broadcast || collective == Collective::reduce ||
           collective == Collective::scatter || collective == Collective::gather;
}

}  // namespace tutti
#pragma GCC visibility pop
