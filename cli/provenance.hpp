// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "cli/bench_options.hpp"
#include "collectives/transport/world.hpp"
#include "results/record.hpp"

namespace tutti {

/// Who asked for what with which tutti.
Session describe_session(const Arguments& arguments, const BenchOptions& options);

/// Where it runs: hosts, ranks, libraries. Collective; complete on every rank.
Launch describe_launch(World& world, const std::string& session);

/// The same in a few lines for the head of a table.
std::vector<std::string> in_notes(const Launch& launch, const World& world);

}  // namespace tutti
