// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "results/limits.hpp"

namespace tutti {

/// Where the limits of a host with this fingerprint are kept between runs:
/// ${XDG_CACHE_HOME:-$HOME/.cache}/tutti/limits-FINGERPRINT.json. Nothing where neither is set.
std::optional<std::filesystem::path> limits_path(const std::string& fingerprint);

/// The last limits in a file of `tutti limits`, or in any results file. Throws Error, one line, if
/// it cannot be read, holds none, or what it holds makes no sense.
Limits read_limits(const std::filesystem::path& path);

/// Replaces the file as a whole: whoever reads at the same time gets the old limits or the new.
/// Throws Error if it cannot be written.
void keep_limits(const Limits& limits, const std::filesystem::path& path);

}  // namespace tutti
