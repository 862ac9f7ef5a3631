// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/reduce_kernel.cuh"

namespace tutti::device {

ReduceFunction fp8_kernel(DataType type, Op op) {
    switch (type) {
        case DataType::fp8_e4m3:
            return reduce_kernel_of<Fp8E4M3>(op);
        case DataType::fp8_e5m2:
            return reduce_kernel_of<Fp8E5M2>(op);
        default:
            return nullptr;
    }
}

}  // namespace tutti::device
