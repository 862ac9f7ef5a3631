// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>

#include "autotune/model/cost_model.hpp"

namespace tutti {

/// Where the model of hosts with this fingerprint is kept between runs:
/// ${XDG_CACHE_HOME:-$HOME/.cache}/tutti/model-FINGERPRINT.json. Nothing where neither is set.
std::optional<std::filesystem::path> model_path(const std::string& fingerprint);

/// Throws Error, one line, if the file cannot be read or its text is refused (model_json.hpp).
CostModel read_model(const std::filesystem::path& path);

/// Replaces the file as a whole: whoever reads at the same time gets the old model or the new.
/// Throws Error if it cannot be written.
void keep_model(const CostModel& model, const std::filesystem::path& path);

/// What both know, of one machine: where they differ `newer` is right. So a calibration with other
/// ranks (one for each core, more ranks than cores) adds to what is known. Of two machines it is
/// `newer` alone.
CostModel merged(const CostModel& older, const CostModel& newer);

}  // namespace tutti
