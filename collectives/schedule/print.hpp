// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "collectives/schedule/schedule.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// Prints a schedule with one line per transfer under its step: "  rank 0 -> rank 1  chunk 3
/// (reduce)".
std::string in_words(const Schedule& schedule);

/// Returns a schedule as JSON on one line, without a newline: {"ranks":2,"chunks":2,"steps":[[
/// {"from":0,"to":1,"first_chunk":1,"chunks":1,"action":"reduce"}, ...], ...]}.
std::string to_json(const Schedule& schedule);

}  // namespace tutti
#pragma GCC visibility pop
