// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "collectives/world/world.hpp"
#include "results/limits.hpp"

namespace tutti {

/// The limits that a bench compares with. `choice` is "none", "measure", "stored" (measured once
/// where none are kept that cover these ranks) or a file; the first rank's counts. The network
/// between several hosts is measured each time, but for a file. Lines of `notes` say where they are
/// from, or why there are none. Collective; the same on all ranks.
std::optional<Limits> choose_limits(World& world, const std::string& choice,
                                    std::vector<std::string>& notes);

}  // namespace tutti
