// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "topology/detect/host_facts.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// This host, all of it: also the cores that this process may not use. Looks once per process, in
/// milliseconds; a second per GPU where nothing else keeps NVIDIA's driver awake.
const Host& detect_host();

/// Another host, by a copy of its /proc and /sys: all that files show.
Host detect_host_in(const std::filesystem::path& root);

/// Packages, NUMA nodes, cores, caches and PCI devices alone. One file of two is built: by hwloc
/// and /sys (detect_hwloc.cpp), or from /proc and /sys where hwloc is absent (detect_portable.cpp).
Host detect_structure();

/// What such a host may have that could not be seen, and why.
std::vector<std::string> blind_spots(const Host& host, const HostFacts& facts);

}  // namespace tutti
