// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tests/simulated_gpu/nccl/plugins.hpp"

namespace tutti::simulated {

/// The algorithms for the call that this thread begins. Functions such as ncclAllReduceConfig, from
/// version 2.31.2 on, set it.
Selection& selection_of_call();

}  // namespace tutti::simulated
