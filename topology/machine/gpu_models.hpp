// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace tutti {

/// What the PCI ids database says about "vendor:device" in hexadecimal, for sources that name a
/// GPU without saying what it can do.

/// Of an NVIDIA GPU: 90 for 9.0; 0 where unknown.
int compute_capability_of(std::string_view pci_id);

/// Of an AMD accelerator: "gfx90a"; empty where unknown.
std::string instruction_set_of(std::string_view pci_id);

}  // namespace tutti
