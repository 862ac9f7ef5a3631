// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/plan_kernel.cuh"

namespace tutti {

PlanKernel fp8_plan_kernel(DataType type, Op op) {
    switch (type) {
        case DataType::fp8_e4m3:
            return plan_kernel_of<Fp8E4M3>(op);
        case DataType::fp8_e5m2:
            return plan_kernel_of<Fp8E5M2>(op);
        default:
            return nullptr;
    }
}

}  // namespace tutti
