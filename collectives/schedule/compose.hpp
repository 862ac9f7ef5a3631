// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "base/types.hpp"
#include "collectives/schedule/collective_spec.hpp"
#include "collectives/schedule/schedule.hpp"

namespace tutti {

/// The same collective on `segments` slices of every chunk, each starting one step after the one
/// before it: a chain or tree of depth d then takes d + segments - 1 steps, and every link is busy.
Schedule pipelined(const Schedule& schedule, int segments);

/// Every transfer reversed, last step first. What spread a chunk now collects it:
/// mirrored(scatter, copy) is a gather, mirrored(broadcast, reduce) a reduce,
/// mirrored(all_gather, reduce) a reduce_scatter. Holds if each rank received each chunk at most
/// once.
Schedule mirrored(const Schedule& schedule, Action action);

/// Drops the chunks that a rank would receive although it starts with them finished. A schedule
/// made of several phases can contain such chunks: scatter and all-gather together broadcast a
/// message, but the all-gather also sends the root parts of its own message.
Schedule without_returns(const Schedule& schedule, const CollectiveSpec& spec);

/// Some ranks that run a schedule among themselves.
struct Group {
    std::vector<Rank> members;  ///< inner rank i is members[i]
    /// Inner chunk c is these chunks of the whole message. Empty: the message is cut alike.
    std::vector<std::vector<Chunks>> pieces = {};
};

/// The chunks of these ranks, where rank r owns chunk r, as runs of neighbours.
std::vector<Chunks> runs_of(std::vector<Rank> ranks);

/// One schedule inside every group, all groups at the same time. `inner` is called once for each
/// group with its size. A rank may be in several groups if their pieces do not overlap. With
/// pieces, the message has `chunks` chunks; without, as many as needed.
Schedule on_each(int ranks, int chunks, const std::vector<Group>& groups,
                 const std::function<Schedule(int group_size)>& inner);

/// A schedule over positions, run by the ranks that stand there: position i is rank order[i]. Block
/// b of rank b stays that rank's block: what the schedule does with the block of position i, it
/// then does with the block of rank order[i]. A root given to the schedule was a position too.
Schedule reordered(const Schedule& schedule, const std::vector<Rank>& order, Collective collective);

/// The message in equal shares, each carried by a schedule of its own, all at the same time. A
/// share is an equal part of every one of the message's `blocks`.
Schedule side_by_side(const std::vector<Schedule>& shares, int blocks);

}  // namespace tutti
