// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/options/tune_options.hpp"

namespace tutti {

/// A table by several launches. Each searches for itself; what they agree on is then held against
/// the library's own collective in as many launches again. Table and samples of each are kept in
/// the folder FILE.launches, and FILE is written anew after each. Throws Error, with its exit code,
/// for a launch that fails.
Exit tune_launches(const TuneOptions& options);

}  // namespace tutti
