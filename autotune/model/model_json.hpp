// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "autotune/model/cost_model.hpp"

namespace tutti {

/// The version of the text; grows only when old readers would go wrong.
inline constexpr int model_version = 1;

/// The model as a JSON object, for a file of its own or within a table. See
/// docs/background/model.md.
std::string to_json(const CostModel& model);

/// The inverse. `name` is how errors call the text. Throws Error "NAME:LINE: what is wrong", on one
/// line, for damaged text, another version, other curves, and numbers that cannot be.
CostModel model_from_json(std::string_view text, std::string_view name);

/// Where the model of hosts with this fingerprint is kept between runs:
/// ${XDG_CACHE_HOME:-$HOME/.cache}/tutti/model-FINGERPRINT.json. Nothing where neither is set.
std::optional<std::filesystem::path> model_path(const std::string& fingerprint);

/// Throws Error, one line, if the file cannot be read or its text is refused.
CostModel read_model(const std::filesystem::path& path);

/// Replaces the file as a whole: whoever reads at the same time gets the old model or the new.
/// Throws Error if it cannot be written.
void keep_model(const CostModel& model, const std::filesystem::path& path);

/// What both know, of one machine: where they differ `newer` is right. So a calibration with other
/// ranks (one for each core, more ranks than cores) adds to what is known. Of two machines it is
/// `newer` alone.
CostModel merged(const CostModel& older, const CostModel& newer);

}  // namespace tutti
