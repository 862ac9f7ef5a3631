// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "topology/machine/machine.hpp"

namespace tutti {

/// Adds a sentence to Host::not_seen for each speed that no hardware has, such as a port of 200
/// Tb/s, unless it is there already. The speeds themselves stay.
void note_impossible_speeds(Host& host);

}  // namespace tutti
