// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/reduce_kernel.cuh"

namespace tutti::device {

ReduceFunction float_kernel(DataType type, Op op) {
    switch (type) {
        case DataType::half:
            return reduce_kernel_of<Half>(op);
        case DataType::bfloat16:
            return reduce_kernel_of<BFloat16>(op);
        case DataType::float32:
            return reduce_kernel_of<float>(op);
        case DataType::float64:
            return reduce_kernel_of<double>(op);
        default:
            return nullptr;
    }
}

}  // namespace tutti::device
