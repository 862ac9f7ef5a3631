// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "results/records/record.hpp"

namespace tutti {

std::string version();

/// This build, as results files keep it.
Tool this_tool();

/// Where the Python scripts lie: TUTTI_SCRIPTS; beside this program, if it is installed; or the
/// source tree that it was built from.
std::filesystem::path scripts_folder();

}  // namespace tutti
