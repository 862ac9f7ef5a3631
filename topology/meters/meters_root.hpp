// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
#include <filesystem>

namespace tutti {

/// Where meters are looked for: "/", or the folder that TUTTI_METERS_ROOT names, with /proc and
/// /sys of a machine that somebody made up.
inline std::filesystem::path meters_root() {
    const char* folder = std::getenv("TUTTI_METERS_ROOT");
    return folder != nullptr ? folder : "/";
}

}  // namespace tutti
