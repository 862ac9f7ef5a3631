// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "topology/detect/host_facts.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// Returns this host, including cores that this process may not use. Detects it once per process,
/// in milliseconds, or a second per GPU if nothing else keeps NVIDIA's driver loaded.
const Host& detect_host();

/// Returns another host from a copy of its /proc and /sys.
Host detect_host_in(const std::filesystem::path& root);

/// Returns only packages, NUMA nodes, cores, caches and PCI devices. One of two files is built:
/// detect_hwloc.cpp uses hwloc and /sys, detect_portable.cpp only /proc and /sys.
Host detect_structure();

/// Returns what the host may have that could not be detected, with the reasons.
std::vector<std::string> blind_spots(const Host& host, const HostFacts& facts);

}  // namespace tutti
