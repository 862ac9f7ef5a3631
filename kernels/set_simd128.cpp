// SPDX-License-Identifier: Apache-2.0
// Registers of 16 bytes, which nearly every architecture has without extra flags: SSE2, NEON, ...
#include "kernels/vector_reduce.hpp"

namespace tutti {

ReduceKernel simd128_reduce(DataType type, Op op, Stores stores) {
    return vector_reduce<16>(type, op, stores);
}

DivideKernel simd128_divide(DataType type) { return vector_divide<16>(type); }

}  // namespace tutti
