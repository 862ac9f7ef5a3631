// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "topology/machine/machine.hpp"

namespace tutti {

/// The machine that a file describes: hwloc XML (1.x, 2.x), NCCL XML, the output of
/// `nvidia-smi topo -m`, or what `tutti topo --json` wrote. The format is recognised by the text.
/// What the source cannot say is in Host::not_seen. Throws Error "FILE:LINE: what is wrong; what to
/// give instead".
Machine read_machine(const std::filesystem::path& file);

/// The same from memory; `name` stands for the file in errors.
Machine parse_machine(std::string_view text, std::string_view name);

/// The formats that are read, as a list for people.
std::string import_formats();

}  // namespace tutti
