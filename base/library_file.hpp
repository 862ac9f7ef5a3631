// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <filesystem>
#include <optional>
#include <string>

namespace tutti {

/// A library of this build or installation, such as "libtutti_heap.so": beside the program that
/// runs, or where libraries are installed with it; with its ABI version behind the name where
/// development files are not installed. Nothing if it is in neither place.
std::optional<std::filesystem::path> library_file(const std::string& name);

/// The names that such a library has: without and with the ABI version.
std::array<std::string, 2> library_names(const std::string& name);

}  // namespace tutti
