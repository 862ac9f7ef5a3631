// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "autotune/table/table.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// Writes JSON in a stable order, so that two tables can be compared line by line: times in ns,
/// sizes in bytes; see docs/reference/tables.md.
std::string to_json(const Table& table);

/// Reads what to_json of this or an older version wrote. Ignores unknown fields, because a later
/// revision of the version may add some. Accepts names of algorithms and transports that this build
/// lacks (see usable.hpp). Throws Error "NAME:LINE: what is wrong; what to do", on one line.
Table parse_table(std::string_view text, std::string_view name);

/// Does the same for a file; throws Error also if it cannot be read. An empty file is a table
/// without entries.
Table read_table(const std::filesystem::path& path);

/// Does the same; throws Error also if the table has no entries. Earlier versions of 'tutti tune'
/// left such tables when they were interrupted.
Table read_choices(const std::filesystem::path& path);

/// Replaces the file atomically: concurrent readers get the old table or the new one. Throws Error
/// and leaves the file unchanged if it cannot be written or the table could not be read again.
void keep_table(const Table& table, const std::filesystem::path& path);

}  // namespace tutti
#pragma GCC visibility pop
