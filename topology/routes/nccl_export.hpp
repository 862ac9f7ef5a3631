// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "topology/machine/machine.hpp"

namespace tutti {

/// The host as NCCL reads it from NCCL_TOPO_FILE. Left out is what NCCL finds out by itself (ranks)
/// and what the host does not know. Throws Error where a GPU has no PCI address, by which NCCL
/// knows it (as after `nvidia-smi topo -m`).
std::string to_nccl_xml(const Host& host);

}  // namespace tutti
