// SPDX-License-Identifier: Apache-2.0
#include "base/replace_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.hpp"

namespace tutti {

void replace_file(const std::filesystem::path& path, std::string_view text, std::string_view what) {
    std::error_code failed;
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), failed);
    const std::filesystem::path half = fmt::format("{}.{}", path.string(), ::getpid());
    std::ofstream stream(half, std::ios::binary | std::ios::trunc);
    stream << text;
    stream.close();
    if (stream.good()) std::filesystem::rename(half, path, failed);
    if (stream.good() && !failed) return;
    const std::string reason = failed ? failed.message() : std::strerror(errno);
    std::filesystem::remove(half, failed);
    throw Error(fmt::format("cannot keep {} in '{}': {}", what, path.string(), reason));
}

void write_file(const std::filesystem::path& path, std::string_view text, std::string_view option) {
    errno = 0;
    std::ofstream stream(path, std::ios::binary | std::ios::trunc);
    stream << text;
    stream.close();
    if (!stream.good())
        throw Error(fmt::format("cannot write '{}': {}; type another file behind {}", path.string(),
                                std::strerror(errno != 0 ? errno : EIO), option));
}

}  // namespace tutti
