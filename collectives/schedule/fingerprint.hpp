// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>

#include "collectives/schedule/schedule.hpp"

namespace tutti {

/// Hashes a schedule. Two schedules have the same hash if every rank does the same in both: it
/// sends and receives the same chunks, to and from the same peers, in the same order and the same
/// steps. Empty steps, the order of different ranks' transfers within a step, and the grouping of
/// neighbouring chunks into runs do not matter. Cutting the message into more chunks, or grouping
/// the transfers into other steps, changes the hash. Different schedules collide with probability
/// 2^-64. Returns nothing for schedules that move more than `most_chunks` chunks, which would take
/// too long.
std::optional<std::uint64_t> fingerprint(const Schedule& schedule, long most_chunks = 1'000'000);

}  // namespace tutti
