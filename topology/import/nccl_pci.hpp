// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "topology/import/xml.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

bool has_child(const XmlElement& element, std::string_view name);

/// What the tclass= of an nvlink or xgmi row says is at its other end.
enum class NcclTarget { gpu, nvswitch, cpu, other };
NcclTarget target_of(const XmlElement& row, const Source& source);

/// What the rows of all GPUs below `system` say is at a PCI address.
using NcclTargets = std::map<std::string, NcclTarget>;
NcclTargets targets_in(const XmlElement& system, const Source& source);

/// What a <pci> element is: `nothing` to us (a disk), or `unknown`, where nothing tells.
enum class NcclPci { pcie_switch, gpu, nic, nvswitch, nothing, unknown };

/// What stands inside says it first, then class=. Files that leave the class to NCCL, which asks
/// the kernel, lack it: then other devices inside make it a switch, and the rows that lead there or
/// its own `id` ("10de:2330") tell.
NcclPci kind_of(const XmlElement& pci, const std::string& address, const std::string& id,
                const NcclTargets& targets, const Source& source);

/// The <gpu> elements of a <pci> that are GPUs to programs: more than one where it is divided
/// (mlopart=). Ranks that share one (equal dev= and mlopart=) are not told apart.
std::vector<const XmlElement*> gpus_in(const XmlElement& pci, const Source& source);

}  // namespace tutti
