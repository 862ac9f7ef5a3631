// SPDX-License-Identifier: Apache-2.0
// The __global__ functions around combine(), and a table of them for one family of types.
#pragma once
#include "kernels/cuda/combine.cuh"
#include "kernels/cuda/element_groups.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch.cuh"

namespace tutti::device {

/// Lies in constant memory, so that the tables of pointers need no load from global memory.
struct ReduceArguments {
    const std::byte* sources[most_sources];
    std::byte* outs[most_outs];
    int how_many_sources, how_many_outs;
    std::int64_t count;
    int divisor;
};

using ReduceFunction = void (*)(ReduceArguments);

/// Three blocks on a multiprocessor leave each thread 80 registers: eight packets and no spill.
template <class Element, Op op>
__global__ void __launch_bounds__(block_threads, 3)
    reduce_kernel(const __grid_constant__ ReduceArguments a) {
    const Operands operands{a.sources, a.how_many_sources, a.outs, a.how_many_outs,
                            a.count,   a.divisor};
    if constexpr (op == Op::avg)
        combine<Element, op, Access::streamed>(operands, grid_thread(), grid_threads());
    else  // a single source uses the copy kernel
        combine_several<Element, op, Access::streamed>(operands, grid_thread(), grid_threads());
}

/// Returns the kernel of one type; Combined has the same bits in sums and products, so that signed
/// and unsigned integers share them.
template <class Element, class Combined = Element>
ReduceFunction reduce_kernel_of(Op op) {
    constexpr ReduceFunction kernels[] = {
        // in the order of Op
        reduce_kernel<Combined, Op::sum>, reduce_kernel<Combined, Op::prod>,
        reduce_kernel<Element, Op::min>, reduce_kernel<Element, Op::max>,
        reduce_kernel<Element, Op::avg>};
    return kernels[static_cast<int>(op)];
}

/// Returns null for a type of another group.
template <class Group>
ReduceFunction kernel_in(DataType type, Op op);

}  // namespace tutti::device
