// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/plan_kernel.cuh"

namespace tutti {

PlanKernel float_plan_kernel(DataType type, Op op) {
    switch (type) {
        case DataType::half:
            return plan_kernel_of<Half>(op);
        case DataType::bfloat16:
            return plan_kernel_of<BFloat16>(op);
        case DataType::float32:
            return plan_kernel_of<float>(op);
        case DataType::float64:
            return plan_kernel_of<double>(op);
        default:
            return nullptr;
    }
}

}  // namespace tutti
