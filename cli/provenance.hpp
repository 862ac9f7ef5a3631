// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "cli/options/commands.hpp"
#include "collectives/world/world.hpp"
#include "results/record.hpp"

namespace tutti {

/// Who asked for what with which tutti.
/// `plan`: every option with its value.
Session describe_session(const std::string& command, const Arguments& arguments,
                         const TextByName& plan, std::uint64_t seed);

/// Where it runs: hosts, ranks, libraries. Collective; complete on every rank.
Launch describe_launch(World& world, const std::string& session);

/// The same in a few lines for the head of a table.
std::vector<std::string> in_notes(const Launch& launch, const World& world);

}  // namespace tutti
