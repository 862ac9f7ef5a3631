// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "topology/detect/sysfs.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// The host as the kernel describes it below `root`/proc and `root`/sys: no name, no notes.
/// Where /sys is empty (some sandboxes), each processor of /proc/cpuinfo counts as a core.
Host read_sysfs_host(const sysfs::Path& root);

/// "AMD EPYC 7402 24-Core Processor"; empty where the kernel does not say (most of ARM).
std::string read_cpu_model(const sysfs::Path& root);

/// All of its memory; 0 where the kernel does not say.
Bytes read_memory(const sysfs::Path& root);

/// Which processor /proc/cpuinfo describes; unknown parts are empty or 0.
CpuIdentity read_cpu_identity(const sysfs::Path& root);

}  // namespace tutti
