// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace tutti {

/// data/digits.libsvm, which the build makes a part of the program: it needs no path to be found.
std::string_view digits_text();

}  // namespace tutti
