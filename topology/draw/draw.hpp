// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "topology/machine/machine.hpp"

namespace tutti {

/// A picture of its own (no scripts, no fonts, no other files): packages and NUMA nodes with their
/// cores on top, PCIe switches below them, then a row of GPUs and NICs; under the GPUs what joins
/// them beside PCIe. Numbers on lines are GB/s per direction. Hosts that are built alike are drawn
/// once, and all stand side by side.
std::string to_svg(const Machine& machine);

/// The same structure for Graphviz (`dot -Tsvg`), one cluster for each kind of host.
std::string to_dot(const Machine& machine);

}  // namespace tutti
