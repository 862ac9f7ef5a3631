// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/types.hpp"
#include "cli/options/commands.hpp"

namespace tutti {

/// The words of the command behind `tutti`: as typed, unless the program is called as one of
/// another suite (all_reduce_perf, osu_allreduce), whose flags are then those of 'tutti bench'.
/// Nothing if help was printed. Throws Error for flags that mean nothing.
std::optional<Arguments> command_of(const std::string& program, const Arguments& words);

/// A program of another suite that measures a collective.
struct ProgramName {
    std::string_view name;
    Collective collective;
};

/// The command, 'bench COLLECTIVE ...'; nothing if help was printed.
using Translation = std::optional<Arguments> (*)(const ProgramName& program,
                                                 const Arguments& words);

// A file for each suite.
std::optional<Arguments> words_of_nccl_tests(const ProgramName& program, const Arguments& words);
std::optional<Arguments> words_of_osu(const ProgramName& program, const Arguments& words);

}  // namespace tutti
