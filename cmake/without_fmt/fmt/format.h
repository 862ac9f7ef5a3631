// SPDX-License-Identifier: Apache-2.0
// Takes the place of fmt where that is not installed: the standard library's own formatting, which is
// the same for all that the core asks for. Needs g++ 13 or a C++ library as young.
#pragma once
#include <format>

namespace fmt {
using std::format;
using std::format_to;
}  // namespace fmt
