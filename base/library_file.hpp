// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <filesystem>
#include <optional>
#include <string>

namespace tutti {

/// Finds a library of this build or installation, such as "libtutti_heap.so", in the folder of the
/// running program or in the library folders of its installation, with or without the ABI version
/// after its name. None if it is not there.
std::optional<std::filesystem::path> library_file(const std::string& name);

/// Returns the names of such a library: without and with the ABI version.
std::array<std::string, 2> library_names(const std::string& name);

}  // namespace tutti
