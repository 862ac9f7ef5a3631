// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.hpp"

/// Readers of the kernel's files in /proc and /sys. Missing or malformed values are none, never an
/// error.
namespace tutti::sysfs {

using Path = std::filesystem::path;

std::vector<std::string> lines_of(const Path& file);
std::optional<std::string> first_line(const Path& file);
std::optional<std::int64_t> number(const Path& file);

/// Reads "32768K" as 33554432 bytes.
std::optional<Bytes> size(const Path& file);

/// Reads the number at the beginning ("16.0 GT/s PCIe"); 0 if there is none above 0 ("Unknown").
double leading_number(const Path& file);

/// Returns the text after the first "key:" in files such as /proc/cpuinfo.
std::optional<std::string> value_of(const Path& file, std::string_view key);

/// Returns key and value of each "key: value" line (/proc/net/dev).
std::vector<std::pair<std::string, std::string>> keyed_lines(const Path& file);

/// Parses "0-3,8" as {0, 1, 2, 3, 8}, ascending.
std::vector<int> parse_list(std::string_view text);
std::vector<int> list(const Path& file);

/// Reads a mask of CPUs, "00000000,000000ff", as a list.
std::vector<int> mask(const Path& file);

/// Reads the list, or the mask if there is no list (old kernels).
std::vector<int> list_or_mask(const Path& list, const Path& mask);

/// Returns the numbers N < 65536 of the entries `prefix`N ("cpu0", "cpu1") of a folder, ascending.
std::vector<int> numbered(const Path& folder, std::string_view prefix);

/// Returns the names of the entries of a folder, in alphabetical order.
std::vector<std::string> entries(const Path& folder);

}  // namespace tutti::sysfs
