// SPDX-License-Identifier: Apache-2.0
// AVX2 adds registers of 32 bytes; F16C, which comes with it, adds half.
#include "kernels/vector_reduce.hpp"
#include "kernels/x86_half_lanes.hpp"

namespace tutti {

ReduceKernel avx2_reduce(DataType type, Op op, Stores stores) {
    return type == DataType::half ? reduce_kernel<HalfLanes<16>>(op, stores)
                                  : vector_reduce<32>(type, op, stores);
}

DivideKernel avx2_divide(DataType type) {
    return type == DataType::half ? divide<HalfLanes<16>> : vector_divide<32>(type);
}

}  // namespace tutti
