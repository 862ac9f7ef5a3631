// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "topology/machine/machine.hpp"

namespace tutti {

/// Returns the input of scripts/draw.py: the machine with the bandwidths of its links and buses,
/// and which hosts are built alike.
std::string to_picture_json(const Machine& machine);

/// The same structure for Graphviz (`dot -Tsvg`), one cluster for each kind of host.
std::string to_dot(const Machine& machine);

/// Gives devices without a model the name of their PCI id in a database such as hwdata's
/// /usr/share/hwdata/pci.ids. A missing file changes nothing.
void name_products(Machine& machine, const std::filesystem::path& pci_ids);

}  // namespace tutti
