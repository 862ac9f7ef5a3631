// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.hpp"

namespace tutti {

/// What `tutti topo` writes beside what it prints. Throws Error where that does not work.
inline void write_file(const std::filesystem::path& file, const std::string& text) {
    std::ofstream stream(file, std::ios::binary);
    stream << text << std::flush;
    if (!stream)
        throw Error(file.string() + ": cannot be written; give a file in a folder of yours");
}

}  // namespace tutti
