// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string_view>

namespace tutti {

/// Puts the text in place of the file, as a whole: whoever reads at the same time gets the old text
/// or the new. Folders on the way are made; a device or a pipe is written to. Throws Error, "cannot
/// keep WHAT in 'path': why", if it cannot be written.
void replace_file(const std::filesystem::path& path, std::string_view text, std::string_view what);

/// Writes the text to a file that the user has named, which may be a pipe or a terminal. Throws
/// Error, "cannot write 'path': why; type another file behind OPTION".
void write_file(const std::filesystem::path& path, std::string_view text, std::string_view option);

}  // namespace tutti
