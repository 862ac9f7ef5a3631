// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/source.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// Limit for links between the same two devices in files.
inline constexpr int most_links = 1024;

/// The importers. They throw Error through `source`.
Machine read_hwloc_xml(const Source& source);
Machine read_nccl_xml(const Source& source);
Machine read_nvidia_smi(const Source& source);
Machine read_tutti_json(const Source& source);
Machine read_amd_matrix(const Source& source);

/// Whether the text contains the header line of `nvidia-smi topo -m`, or a table or the JSON of
/// AMD's tools.
bool looks_like_nvidia_smi(std::string_view text);
bool looks_like_amd_matrix(std::string_view text);

/// Returns a machine of these hosts: without repeated ones that have a name, and each of several
/// hosts with another name.
Machine machine_of(std::vector<Host> hosts);

}  // namespace tutti
