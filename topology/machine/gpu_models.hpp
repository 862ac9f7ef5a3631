// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace tutti {

// Properties of GPUs by PCI id ("vendor:device" in hexadecimal, from the PCI ids database) or name.

/// Returns an NVIDIA GPU's compute capability, 90 for 9.0, or 0 if unknown.
int compute_capability_of(std::string_view pci_id);

/// Does the same by the driver's name of the GPU ("NVIDIA H100 80GB HBM3"), for GPUs with NVLinks.
int compute_capability_of_model(std::string_view model);

/// Returns an AMD GPU's instruction set, "gfx90a", or "" if unknown.
std::string instruction_set_of(std::string_view pci_id);

}  // namespace tutti
