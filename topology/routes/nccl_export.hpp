// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "topology/machine/machine.hpp"

namespace tutti {

/// Writes the host for NCCL_TOPO_FILE, without data that NCCL detects (ranks) or the host lacks.
/// Throws Error if a GPU has no PCI address (as after `nvidia-smi topo -m`), by which NCCL
/// identifies it.
std::string to_nccl_xml(const Host& host);

}  // namespace tutti
