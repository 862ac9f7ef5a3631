// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "cli/options/commands.hpp"

namespace tutti {

/// Meaning of a script's exit code 1. Python also returns it for an uncaught exception.
enum class CodeOne { failure, verdict };

/// Runs a script of scripts/ (Python, or a program) and returns its exit code; usage for a failure.
/// Throws Error if the script is missing or killed by a signal.
Exit run_script(std::string_view name, const Arguments& words, CodeOne one = CodeOne::failure);

/// Returns what a script prints. Throws Error with its message if it fails.
std::string printed_by_script(std::string_view name, const Arguments& words,
                              const std::string& input = {});

/// Returns the picture that scripts/draw.py makes of a description (JSON): the bytes of an SVG, PDF
/// or PNG file, by the ending of `file`. Throws Error if Python or matplotlib is missing.
std::string drawn(std::string_view kind, const std::string& json, const std::string& file);

}  // namespace tutti
