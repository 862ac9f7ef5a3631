// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "topology/host_facts.hpp"
#include "topology/machine.hpp"

namespace tutti {

/// This host, all of it: also the cores that this process may not use. Looks once, in milliseconds.
Host detect_host();

/// The structure alone, without name and notes. One file of two is built: by hwloc
/// (detect_hwloc.cpp), or from /proc and /sys where hwloc is absent (detect_portable.cpp).
Host detect_structure();

/// What such a host may have that could not be seen, and why.
std::vector<std::string> blind_spots(const Host& host, const HostFacts& facts);

}  // namespace tutti
