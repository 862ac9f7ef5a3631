// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace tutti {

/// first..last, both included.
struct IntRange {
    int first = 1;
    int last = 1;
};

/// "8" or "1..64"; from 1 upwards. Throws Error for anything else.
IntRange parse_range(const std::string& text);

}  // namespace tutti
