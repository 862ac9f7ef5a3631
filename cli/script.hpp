// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "cli/options/commands.hpp"

namespace tutti {

/// Runs a Python script of scripts/ with these words, and returns its exit code. Throws Error where
/// there is no such script.
Exit run_script(std::string_view name, const Arguments& words);

}  // namespace tutti
