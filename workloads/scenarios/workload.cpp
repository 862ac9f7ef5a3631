// SPDX-License-Identifier: Apache-2.0
#include "workloads/scenarios/workload.hpp"

#include "base/name_table.hpp"
#include "workloads/scenarios/rows.hpp"

namespace tutti {
namespace {

// A new workload is a file in scenarios/, a line there and a line here.
const Workload rows[] = {
    ddp_workload(),    zero_workload(),  tensor_parallel_workload(),  pipeline_workload(),
    moe_workload(),    train_workload(), parameter_server_workload(), federated_workload(),
    replay_workload(),
};

}  // namespace

std::span<const Workload> workloads() { return rows; }

const Workload& find_workload(std::string_view name) {
    std::vector<std::string> names;
    for (const Workload& row : rows) {
        if (row.name == name) return row;
        names.emplace_back(row.name);
    }
    throw Error(unknown_name("workload", name, names));
}

}  // namespace tutti
