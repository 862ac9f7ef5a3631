// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace tutti {

/// Descriptions of real machines lie beside the checkout, in shared/data/topology of a folder above
/// this file's, or where TUTTI_SHARED says. They are others' work and no part of the project: a
/// test that wants them is skipped without them.
inline std::optional<std::filesystem::path> shared_topology() {
    namespace fs = std::filesystem;
    constexpr auto data = "data/topology";
    if (const char* folder = std::getenv("TUTTI_SHARED"))
        return fs::exists(fs::path(folder) / data) ? std::optional(fs::path(folder) / data)
                                                   : std::nullopt;
    for (fs::path above = fs::absolute(__FILE__); above.has_relative_path();
         above = above.parent_path())
        if (fs::exists(above / "shared" / data)) return above / "shared" / data;
    return std::nullopt;
}

inline std::string content_of(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace tutti
