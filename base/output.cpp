// SPDX-License-Identifier: Apache-2.0
#include "base/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <random>
#include <string>

#include "base/error.hpp"

namespace tutti {
namespace {

// Returns false and sets errno on failure.
bool write_all(int file, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(file, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

}  // namespace

void print_at_once(std::string_view text) {
    errno = 0;
    std::cout.flush();
    if (!text.empty()) std::fwrite(text.data(), 1, text.size(), stdout);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout)
        throw Error(std::string("cannot write to stdout: ") +
                    (errno != 0 ? std::strerror(errno) : "is the disk full?"));
}

void replace_file(const std::filesystem::path& path, std::string_view text, std::string_view what) {
    std::error_code failed, none;
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), failed);
    // A rename would replace a device such as /dev/null by a file.
    const auto kind = std::filesystem::symlink_status(path, none).type();
    const bool in_place =
        kind == std::filesystem::file_type::character || kind == std::filesystem::file_type::fifo;
    // The temporary name cannot be guessed and an existing link is never followed, as other users
    // may be able to write to the folder.
    std::random_device random;
    const std::string written =
        in_place ? path.string()
                 : fmt::format("{}.{:08x}{:08x}", path.string(), random(), random());
    const int file =
        ::open(written.c_str(), O_WRONLY | O_CLOEXEC | (in_place ? 0 : O_CREAT | O_EXCL), 0666);
    bool is_written = file >= 0 && write_all(file, text);
    int reason_not = errno;
    if (file >= 0 && ::close(file) != 0 && is_written) {
        is_written = false;
        reason_not = errno;
    }
    if (is_written && !in_place) std::filesystem::rename(written, path, failed);
    if (is_written && !failed) return;
    const std::string reason = failed ? failed.message() : std::strerror(reason_not);
    if (file >= 0 && !in_place) std::filesystem::remove(written, none);
    throw Error(
        fmt::format("cannot write {} to '{}': {}; use another file", what, path.string(), reason));
}

void write_file(const std::filesystem::path& path, std::string_view text, std::string_view option) {
    errno = 0;
    std::ofstream stream(path, std::ios::binary | std::ios::trunc);
    stream << text;
    stream.close();
    if (!stream.good())
        throw Error(fmt::format("cannot write '{}': {}; use another file for {}", path.string(),
                                std::strerror(errno != 0 ? errno : EIO), option));
}

}  // namespace tutti
