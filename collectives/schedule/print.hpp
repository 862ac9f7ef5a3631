// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "collectives/schedule/schedule.hpp"

#pragma GCC visibility push(default)
namespace tutti {

/// Prints a schedule with one line per transfer under its step: "  rank 0 -> rank 1  chunk 3
/// (reduce)".
std::string in_words(const Schedule& schedule);

/// Returns a schedule as JSON on one line, without a newline: {"ranks":2,"chunks":2,"steps":[[
/// {"from":0,"to":1,"first_chunk":1,"chunks":1,"action":"reduce"}, ...], ...]}.
std::string to_json(const Schedule& schedule);

/// Names the way by which a transfer between two ranks travels: "memory".
using WayOf = std::function<std::string_view(const Transfer&)>;

/// Does the same with the ways: "..., by memory", or a further field "way":"memory".
std::string in_words(const Schedule& schedule, const WayOf& way_of);
std::string to_json(const Schedule& schedule, const WayOf& way_of);

}  // namespace tutti
#pragma GCC visibility pop
