// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "autotune/model/cost_model.hpp"

namespace tutti {

/// The version of the format; grows only when old readers would read it wrongly.
inline constexpr int model_version = 1;

/// Writes the model as a JSON object, for a separate file or within a table. See
/// docs/background/limits.md.
std::string to_json(const CostModel& model);

/// Reads the model. `name` is the name of the text in errors. Throws Error "NAME:LINE: what is
/// wrong", on one line, for damaged text, another version, other curves, and impossible numbers.
CostModel model_from_json(std::string_view text, std::string_view name);

/// Returns the path of the stored model of hosts with this fingerprint:
/// ${XDG_CACHE_HOME:-$HOME/.cache}/tutti/model-FINGERPRINT.json. Nothing if neither variable is
/// set.
std::optional<std::filesystem::path> model_path(const std::string& fingerprint);

/// Reads a model. Throws Error on one line if the file cannot be read or its text is invalid.
CostModel read_model(const std::filesystem::path& path);

/// Reads the stored model of hosts with this fingerprint; returns nothing if there is none. Throws
/// Error on one line if the file is invalid or holds the model of another machine.
std::optional<CostModel> stored_model(const std::string& fingerprint);

/// Replaces the file atomically: concurrent readers get the old model or the new one. Throws Error
/// if it cannot be written.
void keep_model(const CostModel& model, const std::filesystem::path& path);

/// Merges the parameters of both models if they describe the same machine; `newer` wins where both
/// have a value. So a calibration with other ranks (one per core, or more ranks than cores) extends
/// the model. For different machines returns `newer`.
CostModel merged(const CostModel& older, const CostModel& newer);

}  // namespace tutti
