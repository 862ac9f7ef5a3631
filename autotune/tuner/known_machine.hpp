// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autotune/model/cost_model.hpp"
#include "autotune/tuner/calibration.hpp"
#include "collectives/world/world.hpp"
#include "results/records/limits.hpp"

namespace tutti {

// Earlier measurements of these hosts. All functions are collective, return the same on all ranks,
// and add lines about the source to `notes`.

/// Shows a line to the user at once, before work that takes seconds. Called on the first rank.
using Announce = std::function<void(const std::string& line)>;

/// Returns the limits to compare with. `choice` is "none", "measure", "stored" (measured if no
/// stored limits cover these ranks) or a file; the first rank's counts. The network between hosts
/// is measured each time, except for a file. A note explains missing limits.
std::optional<Limits> choose_limits(World& world, const std::string& choice,
                                    std::vector<std::string>& notes, const Announce& announce);

/// Measures the limits again, at the end of a launch with times below `used`. Returns the better of
/// both, and stores it if `choice` is "stored"; nothing if `choice` is a file.
std::optional<Limits> limits_again(World& world, const std::string& choice, const Limits& used,
                                   std::vector<std::string>& notes, const Announce& announce);

/// Returns the cost model for predictions. `choice` is "none", "stored" (of the table if it has
/// one, otherwise of the last 'tutti tune' on these hosts) or a file with a model or a table.
/// Returns nothing if there is none. Throws Error for an unreadable file. The note says so if a
/// file has the model of another machine.
std::optional<CostModel> choose_model(World& world, const std::string& choice,
                                      const std::string& table_file,
                                      std::vector<std::string>& notes);

/// Stores the limits of this host for later commands, combined with earlier ones; not the network,
/// which depends on the hosts of a launch. Returns a message: "stored in FILE". Throws Error if the
/// file cannot be written.
std::string keep_for_later(Limits limits);

/// Returns for example "other programs used 40 % of the cores".
std::string describe_taken(double share);

/// Replaces the calibration's model by the stored one, or else the table's, if that is better (for
/// example because other programs used the cores during the calibration), and merges the parts that
/// only one of them has. Stores the result for other commands, unless other programs used the
/// cores. Returns a report in lines.
std::string keep_better_model(Calibration& calibration, const ModelledMachine& machine,
                              const std::optional<CostModel>& of_table);

}  // namespace tutti
