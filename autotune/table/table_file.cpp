// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "autotune/table/table_json.hpp"
#include "base/error.hpp"

namespace tutti {

Table read_table(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream || std::filesystem::is_directory(path))
        throw Error(fmt::format("cannot read the table '{}'; type: tutti tune --table FILE",
                                path.string()));
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    return parse_table(text, path.string());
}

void keep_table(const Table& table, const std::filesystem::path& path) {
    const std::string text = to_json(table);
    parse_table(text, path.string());
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
    throw Error(fmt::format("cannot keep the table in '{}': {}", path.string(), reason));
}

}  // namespace tutti
