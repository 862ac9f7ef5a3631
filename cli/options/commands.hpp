// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/error.hpp"

namespace tutti {

using Arguments = std::vector<std::string>;

// The commands. Each gets the arguments after its name, and throws Error.
Exit run_aggressor(const Arguments& arguments);
Exit run_bench(const Arguments& arguments);
Exit run_check_guidelines(const Arguments& arguments);
Exit run_ci_guard(const Arguments& arguments);
Exit run_compare(const Arguments& arguments);
Exit run_completion(const Arguments& arguments);
Exit run_doctor(const Arguments& arguments);
Exit run_export(const Arguments& arguments);
Exit run_export_schedule(const Arguments& arguments);
Exit run_history(const Arguments& arguments);
Exit run_limits(const Arguments& arguments);
Exit run_list(const Arguments& arguments);
Exit run_program(const Arguments& arguments);
Exit run_report(const Arguments& arguments);
Exit run_results(const Arguments& arguments);
Exit run_show(const Arguments& arguments);
Exit run_topo(const Arguments& arguments);
Exit run_tune(const Arguments& arguments);
Exit run_verify(const Arguments& arguments);
Exit run_workload(const Arguments& arguments);

}  // namespace tutti
