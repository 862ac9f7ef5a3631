// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/reduce_kernel.cuh"

namespace tutti::device {

ReduceFunction integer_kernel(DataType type, Op op) {
    switch (type) {
        case DataType::int8:
            return reduce_kernel_of<std::int8_t, std::uint8_t>(op);
        case DataType::int16:
            return reduce_kernel_of<std::int16_t, std::uint16_t>(op);
        case DataType::uint8:
            return reduce_kernel_of<std::uint8_t>(op);
        case DataType::uint16:
            return reduce_kernel_of<std::uint16_t>(op);
        default:
            return nullptr;
    }
}

}  // namespace tutti::device
