// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "results/records/record.hpp"

namespace tutti {

std::string version();

/// This build, as results files keep it.
Tool this_tool();

/// Where the Python scripts lie: TUTTI_SCRIPTS; beside this program, if it is installed; or the
/// source tree that it was built from.
std::filesystem::path scripts_folder();

/// A library of this build or installation: from beside this program, or from where libraries are
/// installed with it. Nothing if it is in neither place.
std::optional<std::filesystem::path> library_file(const std::string& name);

/// "libtutti_heap.so.0": what programs without development files have.
std::string versioned_name(const std::string& library);

}  // namespace tutti
