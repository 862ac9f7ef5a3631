// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "collectives/execute/program/program.hpp"

namespace tutti {

/// Runs the programs of all ranks in one of the orders that their waits allow, chosen by the seed,
/// with whole chunks in place of bytes: so it holds for calls of every length. Takes the programs
/// in rank order. Describes the first result that is not the collective's, message that was
/// changed while it was sent, or wait that does not end; nothing if all is right.
std::optional<std::string> find_fault(std::span<const RankProgram> programs,
                                      const CollectiveSpec& spec, int chunks, bool in_place,
                                      std::uint64_t seed);

}  // namespace tutti
