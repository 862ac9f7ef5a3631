// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>

#include "collectives/schedule/schedule.hpp"

namespace tutti {

/// A number that two schedules share if every rank does the same in them: sends and receives the
/// same chunks, to and from the same peers, in the same order and the same steps. Steps in which
/// nothing moves do not count, nor how a step's transfers of different ranks are interleaved, nor
/// whether neighbouring chunks are said in one run. A message cut into more chunks, or the same
/// transfers in another grouping of steps, is another schedule. Schedules that differ share a
/// number once in 2^64. Nothing for one that moves more than `most_chunks` chunks: it would take
/// too long.
std::optional<std::uint64_t> fingerprint(const Schedule& schedule, long most_chunks = 1'000'000);

}  // namespace tutti
