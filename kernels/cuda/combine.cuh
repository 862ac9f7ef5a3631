// SPDX-License-Identifier: Apache-2.0
// Reduce and copy as device code, for any kernel to call:
//
//     combine<Element, op>(operands, thread, threads)
//     divide<Element>(data, count, divisor, thread, threads)     what turns a sum into an average
//     copy(outs, how_many_outs, source, bytes, thread, threads)
//
// Each is one pass, shared by `threads` threads that call it with the same operands and are numbered
// from 0 on by `thread`: a block (threadIdx.x, blockDim.x), or all blocks of a rank. Neighbouring
// threads should be neighbours in a warp. There is no barrier inside, before or after: who reads
// what the pass stored waits as for any other store.
// Compile with --expt-relaxed-constexpr (target tutti_device_code has it).
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/types.hpp"

namespace tutti::device {

/// outs[o][i] = ((sources[0][i] op sources[1][i]) op ...), as ReduceKernel in kernels/sets.hpp, to
/// the same bits (save those of a NaN): half, bfloat16 and fp8 are combined in float and rounded
/// once, whatever the number of sources. Op::avg divides what was summed and rounded by `divisor`,
/// as DivideKernel would. One source is copied bit for bit. Any alignment; an out may be one of the
/// sources exactly. Both tables of pointers lie where the device can read them (global, shared or
/// constant memory; in local memory they would cost a spill).
struct Operands {
    const std::byte* const* sources;
    int how_many_sources;  // 1 or more
    std::byte* const* outs;
    int how_many_outs;   // 1 or more
    std::int64_t count;  // elements
    int divisor = 1;     // for Op::avg: 1 or more
};

/// `shared`: by ordinary loads and stores, right for memory that other blocks or devices write.
/// `streamed`: evicted first, for what nobody looks at again soon.
enum class Access { shared, streamed };

template <class Element, Op op, Access access = Access::shared>
__device__ void combine(const Operands& operands, std::int64_t thread, std::int64_t threads);

template <class Element, Access access = Access::shared>
__device__ void divide(std::byte* data, std::int64_t count, int divisor, std::int64_t thread,
                       std::int64_t threads);

template <Access access = Access::shared>
__device__ void copy(std::byte* const* outs, int how_many_outs, const std::byte* source,
                     std::int64_t bytes, std::int64_t thread, std::int64_t threads);

}  // namespace tutti::device
