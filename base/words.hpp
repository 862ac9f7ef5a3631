// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.hpp"

/// Numbers as people read them.
namespace tutti {

/// Rounded: "512 bytes", "1.5 GiB".
std::string in_words(Bytes bytes);

/// "1 call", "2 calls", "2 batches".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace tutti
