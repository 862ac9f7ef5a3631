// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/source.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// Between the same two devices, whatever a file says.
inline constexpr int most_links = 1024;

/// The importers, each in a file of its own. They throw Error through `source`.
Machine read_hwloc_xml(const Source& source);
Machine read_nccl_xml(const Source& source);
Machine read_nvidia_smi(const Source& source);
Machine read_tutti_json(const Source& source);

/// Whether the text has the header line of the matrix that `nvidia-smi topo -m` prints.
bool looks_like_nvidia_smi(std::string_view text);

}  // namespace tutti
