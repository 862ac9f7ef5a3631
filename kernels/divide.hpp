// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/sets.hpp"

namespace tutti {

/// The fastest kernel that this CPU can run: what turns a sum into Op::avg. For set-up, as
/// find_reduce(). Throws Error as allowed_sets() does.
DivideKernel find_divide(DataType type);

}  // namespace tutti
