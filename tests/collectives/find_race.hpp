// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>

#include "collectives/execute/program/program.hpp"
#include "tests/base/messages.hpp"

namespace tutti {

/// Proves, without running anything, that no place is written while a peer may read it, and that
/// each read of a step gets the value that its owner held before the step: for calls of every
/// length. Takes the programs of
/// all ranks in rank order. Describes the first race (or the first endless wait); nothing if every
/// order of execution is safe, even with repeated runs.
std::optional<std::string> find_race(std::span<const RankProgram> programs);

/// Whether a race was found whose description holds all keys.
inline testing::AssertionResult is_race(const std::optional<std::string>& race,
                                        std::initializer_list<const char*> keys) {
    return holds(race.value_or("no race"), keys);
}

}  // namespace tutti
