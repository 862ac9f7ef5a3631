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

/// Reading of the kernel's one-value files. What is missing or malformed is "none", never an error.
/// `root` is "/", or a folder that holds a copy of another machine's /proc and /sys.
namespace tutti::sysfs {

using Path = std::filesystem::path;

std::vector<std::string> lines_of(const Path& file);
std::optional<std::string> first_line(const Path& file);
std::optional<std::int64_t> number(const Path& file);

/// "32768K" as 33554432 bytes.
std::optional<Bytes> size(const Path& file);

/// The number with which it begins ("16.0 GT/s PCIe"); 0 where there is none above 0 ("Unknown").
double leading_number(const Path& file);

/// The text after "key" and a colon, in files such as /proc/cpuinfo; the first one counts.
std::optional<std::string> value_of(const Path& file, std::string_view key);

/// The key and what stands behind its colon, of each line that has one (/proc/net/dev).
std::vector<std::pair<std::string, std::string>> keyed_lines(const Path& file);

/// "0-3,8" as {0, 1, 2, 3, 8}, ascending.
std::vector<int> parse_list(std::string_view text);
std::vector<int> list(const Path& file);

/// A mask of CPUs, "00000000,000000ff", as a list.
std::vector<int> mask(const Path& file);

/// The numbers N, ascending and below 65536, for which `folder` holds an entry `prefix`N ("cpu0",
/// "cpu1").
std::vector<int> numbered(const Path& folder, std::string_view prefix);

/// The names of what `folder` holds, in alphabetical order.
std::vector<std::string> entries(const Path& folder);

}  // namespace tutti::sysfs
