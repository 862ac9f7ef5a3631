// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

namespace tutti {

/// Where the Python scripts lie: TUTTI_SCRIPTS, or the source tree this was built from.
std::filesystem::path scripts_folder();

}  // namespace tutti
