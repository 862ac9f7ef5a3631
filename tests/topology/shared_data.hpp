// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "tests/base/files.hpp"
#include "tests/base/source_folder.hpp"

namespace tutti {

/// Returns a file of shared test data, which is not part of the source tree: from the folder
/// TUTTI_SHARED, or from `shared` next to the checkout or a folder above it. If it is missing,
/// tests are skipped.
inline std::optional<std::filesystem::path> shared_file(const std::string& name) {
    namespace fs = std::filesystem;
    const auto in = [&](const fs::path& folder) -> std::optional<fs::path> {
        std::error_code unreadable;
        if (fs::exists(folder / name, unreadable)) return folder / name;
        return std::nullopt;
    };
    if (const char* folder = std::getenv("TUTTI_SHARED")) return in(folder);
    for (fs::path folder = source_folder(); folder.has_relative_path();
         folder = folder.parent_path())
        if (auto found = in(folder / "shared")) return found;
    return std::nullopt;
}

/// Returns the folder with descriptions of real machines.
inline std::optional<std::filesystem::path> shared_topology() {
    return shared_file("data/topology");
}

}  // namespace tutti
