// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "autotune/table/table.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// As JSON in stable order, so that two tables can be compared line by line: times in ns, sizes in
/// bytes; see docs/reference/tables.md.
std::string to_json(const Table& table);

/// What to_json wrote, in this version or an older one. Fields that are unknown are ignored, as a
/// later revision of the version may add some; names of algorithms and transports that this build
/// lacks are let through (see usable.hpp). Throws Error "NAME:LINE: what is wrong; what to do",
/// on one line.
Table parse_table(std::string_view text, std::string_view name);

/// Throws Error also if the file cannot be read. An empty file is a table without entries.
Table read_table(const std::filesystem::path& path);

/// Throws Error also if the table has no entries. Earlier versions of 'tutti tune' left such tables
/// when they were interrupted.
Table read_choices(const std::filesystem::path& path);

/// Replaces the file as a whole: whoever reads at the same time gets the old table or the new.
/// Throws Error, and leaves the file as it was, if it cannot be written or the table is one that
/// could not be read again.
void keep_table(const Table& table, const std::filesystem::path& path);

}  // namespace tutti
#pragma GCC visibility pop
