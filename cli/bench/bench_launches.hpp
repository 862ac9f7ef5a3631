// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cli/options/bench_options.hpp"

namespace tutti {

/// Several launches (--launches N), started one after the other, in one table. Throws Error if a
/// launch fails or a file cannot be written.
Exit bench_launches(const BenchOptions& options);

}  // namespace tutti
