// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "cli/options/commands.hpp"

namespace tutti {

/// What exit code 1 of a script says: Python ends with it, too, where nobody catches an exception.
enum class CodeOne { failure, verdict };

/// Runs a Python script of scripts/ with these words, and returns its exit code, usage for a
/// failure. Throws Error where there is no such script, or a signal ends it.
Exit run_script(std::string_view name, const Arguments& words, CodeOne one = CodeOne::failure);

/// A picture that scripts/draw.py makes of a description (JSON): the bytes of an SVG, PDF or PNG
/// file, by the ending of `file`. Throws Error, with the cure, if Python or matplotlib is missing.
std::string drawn(std::string_view kind, const std::string& json, const std::string& file);

}  // namespace tutti
