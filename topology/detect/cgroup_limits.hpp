// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "topology/detect/sysfs.hpp"

namespace tutti {

/// How many CPUs' worth of time the cgroups of this process grant (1.5 = one and a half); none
/// where nothing limits it. Reads cgroup versions 1 and 2, and every group up to the root.
std::optional<double> cpu_quota(const sysfs::Path& root);

/// The hypervisor below this kernel: "kvm", "vmware", ...; "vm" for one that does not say its name;
/// empty on bare metal.
std::string virtualisation(const sysfs::Path& root);

/// The container around this process: "docker", "podman", ...; empty outside.
std::string container(const sysfs::Path& root);

}  // namespace tutti
