// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "results/records/record.hpp"

namespace tutti {

std::string version();

/// Returns the description of this build for results files.
Tool this_tool();

/// Returns the folder of the Python scripts: TUTTI_SCRIPTS, the installed folder next to this
/// program, or the source tree of this build.
std::filesystem::path scripts_folder();

}  // namespace tutti
