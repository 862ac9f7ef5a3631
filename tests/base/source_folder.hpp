// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

namespace tutti {

/// Returns the folder of the checkout. A __FILE__ of a cached object may be relative to another
/// folder.
std::filesystem::path source_folder();

}  // namespace tutti
