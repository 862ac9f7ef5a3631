// SPDX-License-Identifier: Apache-2.0
#include "kernels/sets.hpp"

namespace tutti {

ReduceKernel scalar_reduce(DataType, Op, Stores);
DivideKernel scalar_divide(DataType);
ReduceKernel simd128_reduce(DataType, Op, Stores);
DivideKernel simd128_divide(DataType);

std::span<const KernelSet> kernel_sets() {
    static constexpr auto anywhere = [] { return true; };
    static constexpr KernelSet rows[] = {
        {"simd128", anywhere, simd128_reduce, simd128_divide},
        {"scalar", anywhere, scalar_reduce, scalar_divide},
    };
    return rows;
}

}  // namespace tutti
