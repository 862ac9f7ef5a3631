// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/reduce_kernel.cuh"

namespace tutti::device {

ReduceFunction long_kernel(DataType type, Op op) {
    switch (type) {
        case DataType::int32:
            return reduce_kernel_of<std::int32_t, std::uint32_t>(op);
        case DataType::int64:
            return reduce_kernel_of<std::int64_t, std::uint64_t>(op);
        case DataType::uint32:
            return reduce_kernel_of<std::uint32_t>(op);
        case DataType::uint64:
            return reduce_kernel_of<std::uint64_t>(op);
        default:
            return nullptr;
    }
}

}  // namespace tutti::device
