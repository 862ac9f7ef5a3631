// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "topology/detect/sysfs.hpp"
#include "topology/machine/machine.hpp"

namespace tutti {

/// `host`, of which the devices are known, with the xGMI links between AMD GPUs and to processors,
/// as the kernel's compute driver lists them in /sys/class/kfd.
Host with_sysfs_xgmi(Host host, const sysfs::Path& root);

}  // namespace tutti
