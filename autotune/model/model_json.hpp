// SPDX-License-Identifier: Apache-2.0
#pragma once
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

}  // namespace tutti
