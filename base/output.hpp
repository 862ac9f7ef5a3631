// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace tutti {

/// Writes it to stdout at once. Throws Error if it, or what was printed before, has not arrived: on
/// a full disk nothing else would tell.
void print_at_once(std::string_view text);

/// The same of what was printed before.
inline void finish_output() { print_at_once({}); }

}  // namespace tutti
