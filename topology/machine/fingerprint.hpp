// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "topology/machine/machine.hpp"

namespace tutti {

/// 64 hexadecimal digits that are equal for hosts built alike: same packages, NUMA nodes, cores,
/// caches, PCIe tree, GPUs, NICs with the speeds of their ports, and links. They outlive a reboot:
/// names, addresses and serial numbers do not count, nor the order in which anything is numbered;
/// nor do amounts of memory, as a kernel's own share of it differs from boot to boot, nor
/// interfaces of software.
std::string fingerprint(const Host& host);

/// Of several hosts, in any order; of one host that host's own. The network between them, which is
/// measured, does not count.
std::string fingerprint(const Machine& machine);

/// The same from the fingerprints of the hosts.
std::string fingerprint_of_hosts(std::vector<std::string> hosts);

}  // namespace tutti
