// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "workloads/workload.hpp"

namespace tutti {

Workload ddp_workload();
Workload federated_workload();
Workload parameter_server_workload();

}  // namespace tutti
