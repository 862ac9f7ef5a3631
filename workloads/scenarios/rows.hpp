// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "workloads/scenarios/workload.hpp"

namespace tutti {

Workload ddp_workload();
Workload zero_workload();
Workload tensor_parallel_workload();
Workload pipeline_workload();
Workload moe_workload();
Workload train_workload();
Workload parameter_server_workload();
Workload federated_workload();
Workload replay_workload();

}  // namespace tutti
