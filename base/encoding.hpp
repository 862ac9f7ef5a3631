// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace tutti {

/// Returns the text after the byte order mark of UTF-8, if it begins with one.
std::string_view without_byte_order_mark(std::string_view text);

/// Returns whether a text whose first character is ASCII is in UTF-16, with or without a byte order
/// mark. Editors and shells of Windows write such files.
bool is_utf16(std::string_view text);

/// Returns the text of a file in UTF-8 without a byte order mark.
std::string in_utf8(std::string_view text);

/// Returns at most `most_bytes` from the beginning of a text in UTF-8, without a part of a
/// character.
std::string_view beginning_of(std::string_view text, std::size_t most_bytes);

}  // namespace tutti
