// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace tutti {

using Arguments = std::vector<std::string>;

/// Whether the word is one of these options, "--json" or "--json=FILE", "-J" or "-JFILE".
bool names_option(std::string_view word, std::span<const std::string_view> options);

/// The words but for these options, each with its value.
Arguments without_options(const Arguments& words, std::span<const std::string_view> options);

// The commands. Each gets the arguments behind its name, and throws Error for what cannot be done.
Exit run_bench(const Arguments& arguments);
Exit run_check_guidelines(const Arguments& arguments);
Exit run_compare(const Arguments& arguments);
Exit run_completion(const Arguments& arguments);
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
