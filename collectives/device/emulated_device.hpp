// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>

#include "collectives/device/accelerator.hpp"

namespace tutti {

/// Makes a device of host memory whose blocks are threads: it runs the same programs by the same
/// loop as a GPU, so that they can be tested without one. The blocks of `stopped_rank` never begin,
/// as a fault for tests.
std::shared_ptr<Accelerator> emulated_device(std::optional<int> stopped_rank = {});

}  // namespace tutti
