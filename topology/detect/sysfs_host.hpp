// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "topology/detect/sysfs.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// Reads the host from `root`/proc and `root`/sys, without name and notes. If /sys is empty (some
/// sandboxes), each processor of /proc/cpuinfo counts as a core.
Host read_sysfs_host(const sysfs::Path& root);

/// Whose private caches are read, unless they are of the last level: all cores', or only those of
/// the first and the last core, if these two have like caches.
enum class PrivateCaches : std::uint8_t { of_all_cores, of_two_cores };

/// Reads only cores, packages (without model), NUMA nodes and caches. Opens about 320 files on a
/// host with 192 cores, if not all private caches are wanted.
Host read_sysfs_cores(const sysfs::Path& root, PrivateCaches wanted = PrivateCaches::of_two_cores);

/// Returns "AMD EPYC 7402 24-Core Processor"; empty if unknown (on most ARM processors).
std::string read_cpu_model(const sysfs::Path& root);

/// Returns the total memory; 0 if unknown.
Bytes read_memory(const sysfs::Path& root);

/// Reads the processor type from /proc/cpuinfo; unknown parts are empty or 0.
CpuIdentity read_cpu_identity(const sysfs::Path& root);

}  // namespace tutti
