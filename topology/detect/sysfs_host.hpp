// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "topology/detect/sysfs.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// Reads the host from `root`/proc and `root`/sys, without name and notes. If /sys is empty (some
/// sandboxes), each processor of /proc/cpuinfo counts as a core.
Host read_sysfs_host(const sysfs::Path& root);

/// The same without devices, in a fraction of the time: only cores, packages, NUMA nodes, caches.
Host read_sysfs_cores(const sysfs::Path& root);

/// Returns "AMD EPYC 7402 24-Core Processor"; empty if unknown (on most ARM processors).
std::string read_cpu_model(const sysfs::Path& root);

/// Returns the total memory; 0 if unknown.
Bytes read_memory(const sysfs::Path& root);

/// Reads the processor type from /proc/cpuinfo; unknown parts are empty or 0.
CpuIdentity read_cpu_identity(const sysfs::Path& root);

}  // namespace tutti
