// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "autotune/model/cost_model.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// The cost model that a bench predicts with. `choice` is "none", "stored" (of the table, if that
/// has one, else what 'tutti tune' has measured on these hosts last) or a file, a model's or a
/// table's. Nothing where there is none; a line of `notes` says where it is from. Throws Error for
/// a file that cannot be read. Collective; the same on all ranks.
std::optional<CostModel> choose_model(World& world, const std::string& choice,
                                      const std::string& table_file,
                                      std::vector<std::string>& notes);

}  // namespace tutti
