// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>

#include "collectives/execute/direct/direct_program.hpp"

namespace tutti {

/// Proves, without running anything, that no byte is written while a peer may read it, and that
/// each read of a step sees what its owner held before the step. Takes the programs of all ranks in
/// rank order. Returns the first race (or the first wait that nothing ends) in words; nothing if
/// every order of execution is safe, also when the plan runs again and again.
std::optional<std::string> find_race(std::span<const DirectProgram> programs);

}  // namespace tutti
