// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace tutti {

using Arguments = std::vector<std::string>;

/// One subcommand. `run` gets the arguments behind its name; throws Error for what cannot be done.
struct Command {
    std::string_view name;
    std::string_view what;
    Exit (*run)(const Arguments& arguments);
};

/// The one place where commands are listed.
std::span<const Command> commands();

Exit run_bench(const Arguments& arguments);
Exit run_limits(const Arguments& arguments);
Exit run_list(const Arguments& arguments);
Exit run_report(const Arguments& arguments);
Exit run_show(const Arguments& arguments);
Exit run_topo(const Arguments& arguments);
Exit run_tune(const Arguments& arguments);
Exit run_verify(const Arguments& arguments);
Exit run_workload(const Arguments& arguments);

}  // namespace tutti
