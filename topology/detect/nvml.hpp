// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

#include "topology/machine/machine.hpp"

namespace tutti {

/// Adds the data of NVIDIA's driver to `host`, whose PCI devices are known: model and compute
/// capability of each GPU, NVLinks (to GPUs, NVSwitches and processors), NVLink-C2C, and which GPUs
/// cannot access each other. GPUs that are not on the visible bus (WSL) are added. Host::not_seen
/// lists what the driver does not report; a missing driver is noted only if the bus has an NVIDIA
/// GPU.
///
/// NVML is loaded meanwhile; functions that are missing or fail leave their data unknown. Takes a
/// second or more per GPU if nothing else keeps the driver loaded.
/// @param library the file of NVML, or a name that the dynamic linker searches.
/// @param root "/" or a folder with a copy of another machine's /sys.
Host with_nvidia_driver(Host host, const std::filesystem::path& library = "libnvidia-ml.so.1",
                        const std::filesystem::path& root = "/");

}  // namespace tutti
