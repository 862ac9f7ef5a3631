// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

#include "topology/machine/machine.hpp"

namespace tutti {

/// `host`, of which the PCI devices are known, with what NVIDIA's driver reports besides: model and
/// compute capability of each GPU, NVLinks (to GPUs, NVSwitches and processors), NVLink-C2C, which
/// GPUs cannot reach each other; and in Host::not_seen what it does not report.
///
/// Its library (NVML) is loaded while this runs, and each of its functions may be missing or fail:
/// then that part stays unknown. A host without a driver is a normal case, worth a note only if an
/// NVIDIA GPU is on the bus. GPUs that are not on the bus shown here (WSL) are added.
///
/// Costs a second and more per GPU where nothing else keeps the driver awake.
/// @param library where NVML is; a plain name is searched as programs search their libraries.
/// @param root "/", or a folder that holds a copy of another machine's /sys.
Host with_nvidia_driver(Host host, const std::filesystem::path& library = "libnvidia-ml.so.1",
                        const std::filesystem::path& root = "/");

}  // namespace tutti
