// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "topology/machine/machine.hpp"

namespace tutti {

/// Returns 64 hexadecimal digits that are equal for hosts of the same structure: packages, NUMA
/// nodes, cores, caches, PCIe tree, GPUs, NICs with port speeds, and links. Names, addresses,
/// serial numbers, the order of numbering, virtual interfaces and amounts of memory (which differ
/// from boot to boot) do not count.
std::string fingerprint(const Host& host);

/// Combines the fingerprints of the hosts, in any order; a single host keeps its own. The measured
/// network does not count.
std::string fingerprint(const Machine& machine);

/// Combines the fingerprints of hosts in the same way.
std::string fingerprint_of_hosts(std::vector<std::string> hosts);

}  // namespace tutti
