// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "topology/machine.hpp"

namespace tutti {

/// 64 hexadecimal digits that are equal for hosts built alike: same packages, NUMA nodes, cores,
/// caches, GPUs and NICs. Names, addresses and serial numbers do not count; nor do amounts of
/// memory, as a kernel's own share of it differs from boot to boot.
std::string fingerprint(const Host& host);

}  // namespace tutti
