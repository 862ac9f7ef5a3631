// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "base/types.hpp"
#include "collectives/schedule/schedule.hpp"

namespace tutti {

/// A schedule over positions, run by the ranks that stand there: position i is rank order[i]. Block
/// b of rank b stays that rank's block: what the schedule does with the block of position i, it
/// then does with the block of rank order[i]. A root given to the schedule was a position too.
Schedule reordered(const Schedule& schedule, const std::vector<Rank>& order, Collective collective);

/// The message in equal shares, each carried by a schedule of its own, all at the same time. A
/// share is an equal part of every one of the message's `blocks`.
Schedule side_by_side(const std::vector<Schedule>& shares, int blocks);

}  // namespace tutti
