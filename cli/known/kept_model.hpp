// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "autotune/tuner/calibration.hpp"

namespace tutti {

/// Where a cost model was known before: the file that other commands read, and the table.
struct KnownModels {
    std::optional<std::filesystem::path> path;
    std::optional<CostModel> of_table;
};

/// Puts the better of two in place of a calibration's model: its own, or the one that was known,
/// which is right, too, where others had the cores meanwhile. What only one of them knows is in
/// both cases part of it. It is kept for other commands, unless others had the cores. Returns what
/// was done, as lines.
std::string keep_better_model(Calibration& calibration, const ModelledMachine& machine,
                              const KnownModels& known);

}  // namespace tutti
