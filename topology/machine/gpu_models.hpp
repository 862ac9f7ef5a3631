// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace tutti {

/// For sources that name a GPU without saying what it can do: by what the PCI ids database says
/// about "vendor:device" in hexadecimal, or by its name.

/// Of an NVIDIA GPU: 90 for 9.0; 0 where unknown.
int compute_capability_of(std::string_view pci_id);

/// The same by the name that NVIDIA's driver gives it ("NVIDIA H100 80GB HBM3"), as far as GPUs
/// have NVLinks.
int compute_capability_of_model(std::string_view model);

/// Of an AMD accelerator: "gfx90a"; empty where unknown.
std::string instruction_set_of(std::string_view pci_id);

}  // namespace tutti
