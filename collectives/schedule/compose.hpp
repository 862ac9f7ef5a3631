// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <functional>
#include <vector>

#include "base/types.hpp"
#include "collectives/schedule/collective_spec.hpp"
#include "collectives/schedule/schedule.hpp"

namespace tutti {

/// Runs the collective on `segments` slices of every chunk, each slice one step after the previous
/// one: a chain or tree of depth d then takes d + segments - 1 steps, and every link is busy.
Schedule pipelined(const Schedule& schedule, int segments);

/// Reverses every transfer, last step first. A schedule that spreads a chunk then collects it:
/// mirrored(scatter, copy) is a gather, mirrored(broadcast, reduce) a reduce, mirrored(all_gather,
/// reduce) a reduce_scatter. Requires that each rank receives each chunk at most once.
Schedule mirrored(const Schedule& schedule, Action action);

/// Drops the chunks that a rank would receive although it starts with them finished. A schedule
/// made of several phases can contain such chunks: scatter and all-gather together broadcast a
/// message, but the all-gather also sends the root parts of its own message.
Schedule without_returns(const Schedule& schedule, const CollectiveSpec& spec);

/// Ranks that run a schedule among themselves.
struct Group {
    std::vector<Rank> members;  ///< inner rank i is members[i]
    /// Chunks of the whole message that make up inner chunk c. Empty: group and whole cut the
    /// message alike.
    std::vector<std::vector<Chunks>> pieces = {};
};

/// Returns the chunks of these ranks, where rank r owns chunk r, as runs of neighbours.
std::vector<Chunks> runs_of(std::vector<Rank> ranks);

/// Returns the parts of such a run before and after the rank's own chunk; they may be empty.
std::array<Chunks, 2> around(Chunks run, Rank own);

/// Runs one schedule in every group, all groups at the same time. `inner` is called once for each
/// group with its size. A rank may be in several groups if their pieces do not overlap. With
/// pieces, the message has `chunks` chunks; without, as many as needed.
Schedule on_each(int ranks, int chunks, const std::vector<Group>& groups,
                 const std::function<Schedule(int group_size)>& inner);

/// Assigns rank order[i] to position i of a schedule. Block b of rank b stays that rank's block:
/// the transfers of position i's block become transfers of the block of rank order[i]. The root of
/// the given schedule is a position, too.
Schedule reordered(const Schedule& schedule, const std::vector<Rank>& order, Collective collective);

/// Cuts the message into equal shares and runs one schedule per share, all at the same time. A
/// share is an equal part of every one of the message's `blocks`.
Schedule side_by_side(const std::vector<Schedule>& shares, int blocks);

}  // namespace tutti
