// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "topology/detect/sysfs.hpp"

namespace tutti {

/// How long these CPUs together have worked since the machine started, for whatever program, or for
/// other guests of the same hardware. Interrupts are left out: they may be this program's own. In
/// steps of a hundredth of a second; nothing where the kernel does not say.
std::optional<std::int64_t> busy_ns(const std::vector<int>& cpus, const sysfs::Path& root = "/");

}  // namespace tutti
