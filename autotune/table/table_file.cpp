// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "autotune/table/table_json.hpp"
#include "base/error.hpp"
#include "base/replace_file.hpp"

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
    replace_file(path, text, "the table");
}

}  // namespace tutti
