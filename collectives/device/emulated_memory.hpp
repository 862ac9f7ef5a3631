// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "collectives/device/memory_device.hpp"

namespace tutti {

/// The memory of an emulated device: that of this host, whatever is asked of a queue is done at
/// once, and any memory of the host is known to it. May be used by several threads.
std::unique_ptr<MemoryDevice> emulated_memory();

}  // namespace tutti
