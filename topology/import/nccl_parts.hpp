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

/// Whether the element has rows of links: nvlink, xgmi or c2c.
bool has_rows(const XmlElement& element);

/// Kind of the other end of an nvlink or xgmi row, by its tclass=.
enum class NcclTarget { gpu, nvswitch, cpu, other };
NcclTarget target_of(const XmlElement& row, const Source& source);

/// Kind of the device at each PCI address that is the target of a row.
using NcclTargets = std::map<std::string, NcclTarget>;
NcclTargets targets_in(const XmlElement& system, const Source& source);

/// Kind of a <pci> element: `nothing` is an irrelevant device such as a disk.
enum class NcclPci { pcie_switch, gpu, nic, nvswitch, nothing, unknown };

/// Determines the kind by the child elements, then by class=. Files that leave the class to NCCL
/// (which asks the kernel) lack it: then children make it a switch; else rows that lead to it or
/// its `id`
/// ("10de:2330") decide.
NcclPci kind_of(const XmlElement& pci, const std::string& address, const std::string& id,
                const NcclTargets& targets, const Source& source);

/// Returns the <gpu> elements of a <pci>, several if the GPU is divided (mlopart=). Elements of
/// ranks that share a GPU (equal dev= and mlopart=) are returned once.
std::vector<const XmlElement*> gpus_in(const XmlElement& pci, const Source& source);

/// A <gpu> element of NCCL's file, or a <pci> with rows next to its <gpu>, and its device.
struct NcclGpu {
    int device = 0;
    const XmlElement* element = nullptr;
};

/// The devices at each PCI address: several if a GPU is divided.
using NcclAddresses = std::map<std::string, std::vector<int>>;

/// Adds the links of the GPUs' nvlink, xgmi and c2c rows to `host`; rows for both directions make
/// one link. NVSwitches that only rows mention are appended to the devices. The parts of a divided
/// GPU share its links.
void read_nccl_links(const std::vector<NcclGpu>& gpus, NcclAddresses& by_address, Host& host,
                     const Source& source);

}  // namespace tutti
