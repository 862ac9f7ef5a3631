// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "tests/base/files.hpp"

namespace tutti {

/// A file of other people's machines, which is no part of the source tree: in the folder that
/// TUTTI_SHARED names, or in `shared` beside the checkout (or beside a folder above it). None where
/// it is absent: tests skip then.
inline std::optional<std::filesystem::path> shared_file(const std::string& name) {
    namespace fs = std::filesystem;
    const auto in = [&](const fs::path& folder) -> std::optional<fs::path> {
        std::error_code unreadable;
        if (fs::exists(folder / name, unreadable)) return folder / name;
        return std::nullopt;
    };
    if (const char* folder = std::getenv("TUTTI_SHARED")) return in(folder);
    for (fs::path folder = fs::absolute(__FILE__).parent_path(); folder.has_relative_path();
         folder = folder.parent_path())
        if (auto found = in(folder / "shared")) return found;
    return std::nullopt;
}

/// The folder of descriptions of real machines.
inline std::optional<std::filesystem::path> shared_topology() {
    return shared_file("data/topology");
}

}  // namespace tutti
