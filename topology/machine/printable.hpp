// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "topology/machine/machine.hpp"

namespace tutti {

/// Names come from files and devices: what a terminal would obey or break a line at (control
/// characters of ASCII and, in UTF-8, of Latin-1) becomes '?'.
std::string printable(std::string_view text);

/// With all texts so.
Host printable(Host host);
Machine printable(Machine machine);

}  // namespace tutti
