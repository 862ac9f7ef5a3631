// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "results/record.hpp"

namespace tutti {

std::string version();

/// This build, as results files keep it.
Tool this_tool();

}  // namespace tutti
