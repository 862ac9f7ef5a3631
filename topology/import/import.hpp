// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "topology/machine/machine.hpp"

namespace tutti {

/// Reads a machine from hwloc XML (1 to 3), NCCL XML, the output of `nvidia-smi topo -m` or of
/// `tutti topo --json`. The content determines the format. Host::not_seen lists what the format
/// lacks. Throws Error "FILE:LINE: problem; cure".
Machine read_machine(const std::filesystem::path& file);

/// Reads a machine from memory; `name` replaces the file name in errors.
Machine parse_machine(std::string_view text, std::string_view name);

/// Returns the list of formats for messages.
std::string import_formats();

}  // namespace tutti
