// SPDX-License-Identifier: Apache-2.0
#include "base/library_file.hpp"

namespace tutti {

std::array<std::string, 2> library_names(const std::string& name) {
    return {name, name + "." TUTTI_ABI};
}

std::optional<std::filesystem::path> library_file(const std::string& name) {
    std::error_code none;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
    for (const char* folder : {".", "../lib/" TUTTI_LIBRARY_ARCHITECTURE, "../lib", "../lib64"}) {
        for (const std::string& each : library_names(name)) {
            const auto file = (program / folder / each).lexically_normal();
            if (std::filesystem::exists(file, none)) return file;
        }
    }
    return std::nullopt;
}

}  // namespace tutti
