// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/error.hpp"
#include "cli/options/options.hpp"

namespace tutti {

/// Prints the arrivals of each rank in logs of collectives, and the rank that others wait for.
Exit show_stragglers(const Arguments& files, bool as_json);

}  // namespace tutti
