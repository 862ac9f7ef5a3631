// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "collectives/world/rendezvous/rendezvous.hpp"

namespace tutti {

/// Takes --rendezvous, --rank and --size, which differ from rank to rank, out of what was typed
/// before "--". From here on this process is that rank. Throws Error where they say no rank.
void take_rendezvous(std::vector<std::string>& arguments);

/// What they said; none if nothing.
const std::optional<Rendezvous>& rendezvous_of_process();

}  // namespace tutti
