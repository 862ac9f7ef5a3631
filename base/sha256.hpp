// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace tutti {

/// The SHA-256 digest of `text` (FIPS 180-4) as 64 hexadecimal digits.
std::string sha256(std::string_view text);

}  // namespace tutti
