// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>

#include "autotune/table/table.hpp"
#include "workloads/bench/candidates.hpp"

namespace tutti {

/// What a table that has been adapted to these ranks says of buffers on devices: its choice, or
/// else a runner-up. There are no built-in rules for devices, so without a table it refuses all.
/// Collective.
std::shared_ptr<const DeviceChooser> choice_on_devices(World& world,
                                                       const std::optional<Table>& table);

}  // namespace tutti
