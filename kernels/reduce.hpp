// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/sets.hpp"

namespace tutti {

/// The fastest kernel that this CPU can run; Op::avg is reduced as sum. For set-up, not for the
/// timed loop: it asks the CPU and the environment. Throws Error as allowed_sets() does.
ReduceKernel find_reduce(DataType type, Op op, Stores stores = Stores::cached);

}  // namespace tutti
