// SPDX-License-Identifier: Apache-2.0
#include "collectives/device/plan_kernel.cuh"

namespace tutti {

PlanKernel integer_plan_kernel(DataType type, Op op) {
    switch (type) {
        case DataType::int8:
            return plan_kernel_of<std::int8_t, std::uint8_t>(op);
        case DataType::int16:
            return plan_kernel_of<std::int16_t, std::uint16_t>(op);
        case DataType::uint8:
            return plan_kernel_of<std::uint8_t>(op);
        case DataType::uint16:
            return plan_kernel_of<std::uint16_t>(op);
        default:
            return nullptr;
    }
}

}  // namespace tutti
