// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "autotune/model/cost_model.hpp"
#include "collectives/world/world.hpp"
#include "results/records/limits.hpp"

namespace tutti {

// What was measured of these hosts before, for commands that compare with it. All are collective,
// give the same on all ranks, and add lines to `notes` that say where it is from.

/// The limits to compare with. `choice` is "none", "measure", "stored" (measured once where none
/// are kept that cover these ranks) or a file; the first rank's counts. The network between several
/// hosts is measured each time, but for a file. A note says why there are none.
std::optional<Limits> choose_limits(World& world, const std::string& choice,
                                    std::vector<std::string>& notes);

/// The limits of `choice` once more, by measuring, at the end of a launch with times that beat
/// `used`: the better of both, which is kept where `choice` is "stored"; nothing where it is a
/// file.
std::optional<Limits> limits_again(World& world, const std::string& choice, const Limits& used,
                                   std::vector<std::string>& notes);

/// The cost model to predict with. `choice` is "none", "stored" (of the table, if that has one,
/// else what 'tutti tune' has measured on these hosts last) or a file, a model's or a table's.
/// Nothing where there is none. Throws Error for a file that cannot be read.
std::optional<CostModel> choose_model(World& world, const std::string& choice,
                                      const std::string& table_file,
                                      std::vector<std::string>& notes);

}  // namespace tutti
