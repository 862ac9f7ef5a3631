// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string_view>

namespace tutti {

/// Writes the text to stdout and flushes it. Throws Error if this or earlier output could not be
/// written, e.g. because the disk is full.
void print_at_once(std::string_view text);

/// Flushes stdout; throws Error if earlier output could not be written.
inline void finish_output() { print_at_once({}); }

/// Replaces the whole file at once: a reader sees the old or the new text, never a part. Creates
/// missing folders; writes to devices and pipes in place. Throws Error "cannot write WHAT to
/// 'path': why".
void replace_file(const std::filesystem::path& path, std::string_view text, std::string_view what);

/// Writes the text to a file that the user named, which may be a pipe or a terminal. Throws Error
/// "cannot write 'path': why; use another file for OPTION".
void write_file(const std::filesystem::path& path, std::string_view text, std::string_view option);

}  // namespace tutti
