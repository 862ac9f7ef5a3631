// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/source.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// Returns a copy with all texts printable (base/source.hpp).
Host printable(Host host);
Machine printable(Machine machine);

}  // namespace tutti
