// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "topology/machine/machine.hpp"

namespace tutti {

/// "PCIe 16 GT/s x8, 12 GB/s"; empty where nothing is known of it.
std::string text_of(PcieLink link);

/// "eth0 25 Gb/s, mlx5_1 200 Gb/s": what leads out of a NIC.
std::string ports_text(const Device& nic);

/// Describes a device and its connection, without its place: "NVIDIA H100, PCIe 32 GT/s x16, 48
/// GB/s".
std::string text_of(const Device& device);

/// Links other than PCIe: a matrix of GPUs in GB/s per direction, what goes to NVSwitches and to
/// processors, and which GPUs cannot reach each other. Ends in a newline unless there are none.
std::string links_text(const Host& host);

}  // namespace tutti
