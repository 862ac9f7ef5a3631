// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "collectives/execute/plan/plan.hpp"

namespace tutti {

/// When each step of the operation's plan has ended on all ranks, in ns since the call began: the
/// median over `calls` calls (at least 1), each after a barrier, of the last rank's. Entry i is of
/// step i; the last entry is of the call. Each rank counts from its own begin, so that hosts need
/// no common clock. Only the call where the steps cannot be seen. `before_call` (may be empty) is
/// not timed. Collective; the same on all ranks.
std::vector<std::int64_t> step_ends_of(World& world, Operation& operation, std::int64_t calls,
                                       const std::function<void()>& before_call);

}  // namespace tutti
