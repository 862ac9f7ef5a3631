// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "workloads/workload.hpp"

namespace tutti {

Workload ddp_workload();
Workload zero_workload();
Workload pipeline_workload();
Workload tensor_parallel_workload();
Workload moe_workload();

}  // namespace tutti
