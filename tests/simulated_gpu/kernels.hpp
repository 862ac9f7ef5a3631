// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tests/simulated_gpu/run_block.hpp"

namespace tutti::simulated {

/// Runs a block; fails the GPU if it does something that a GPU would refuse.
void run_block(const Block& block);

}  // namespace tutti::simulated
