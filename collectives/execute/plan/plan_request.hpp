// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/index.hpp"
#include "collectives/execute/plan/caller_memory.hpp"
#include "collectives/execute/plan/layout.hpp"
#include "collectives/execute/plan/store_choice.hpp"
#include "collectives/schedule/schedule.hpp"
#include "collectives/transport/transfer_method.hpp"
#include "collectives/world/shared_memory.hpp"

namespace tutti {

/// Lanes of a message plan. Different chunks never depend on each other, so a plan may distribute
/// its chunks over lanes that execute the steps at their own pace. While one lane waits for the end
/// of a step, the others keep the network busy. Channels of a schedule and segments of a pipelined
/// one are assigned to lanes round-robin.
struct Lanes {
    int count = 1;
    int segments = 1;         ///< of the schedule: chunk c belongs to segment c % segments
    int channels = 1;         ///< of the schedule: see side_by_side
    int chunks_of_share = 1;  ///< chunks per block that a channel carries
    int lane_of(int chunk) const {
        const int channel = chunk / chunks_of_share % channels;
        return (chunk % segments * channels + channel) % count;
    }
    auto operator<=>(const Lanes&) const = default;
};

/// Everything a plan is compiled from. Collective calls must agree on all but the buffers.
struct PlanRequest {
    Schedule schedule;
    Call call;
    /// Sizes are those of input_bytes() and output_bytes(); the buffers coincide as
    /// in_place_offsets() specifies, or do not overlap.
    CallBuffers buffers = {};
    std::string what = {};  ///< names the plan in reports: "all_reduce ring (shm)"
    int number = 0;         ///< of the plan, the same on all ranks; lanes use consecutive numbers
    Lanes lanes = {};
    /// Memory that holds both buffers and that peers can reach; null, on all ranks, for
    /// unregistered buffers.
    const ReachableMemory* registered = nullptr;
    TransferMethod method = TransferMethod::copy_in_copy_out;
    /// Runs that a rank may begin while peers still read its data of an earlier one, because the
    /// plan's memory has room for both. Only where peers never access the caller's buffers.
    int runs_ahead = 0;
    /// The host of each rank, if the method only reaches ranks of the same host: others exchange
    /// messages. Empty: it reaches all.
    std::vector<int> hosts = {};
    /// Number of consecutive runs per start of a plan on devices.
    unsigned runs = 1;
    /// How to store results that no rank reads during the call.
    StoreChoice stores = StoreChoice();

    /// Whether no rank reaches another one's memory.
    bool sends_only_messages() const {
        return method == TransferMethod::device_lines || TransferMethods{method}.are_messages();
    }
    /// Whether these two ranks exchange messages, not places in memory.
    bool sends_messages(Rank one, Rank other) const {
        return sends_only_messages() || (!hosts.empty() && at(hosts, one) != at(hosts, other));
    }
};

/// Returns whether the rank's output holds the result before the call, as at the root of an
/// in-place broadcast. Do not write there, not even the same values: it may be read-only memory.
bool has_result_before(const Call& call, const CallBuffers& buffers, Rank rank);

/// One chunk that this rank sends or receives in some step.
struct RankTransfer {
    int chunk;
    Rank peer;
    Action action;
};

/// One rank's transfers of one step, in the order of the schedule.
struct RankStep {
    int number = 0;
    std::vector<RankTransfer> sends = {};     ///< to other ranks
    std::vector<RankTransfer> receives = {};  ///< from other ranks and from itself
    bool is_empty() const { return sends.empty() && receives.empty(); }
};

/// Returns the steps in which the rank has transfers, read from the request's schedule.
std::vector<RankStep> rank_steps(const PlanRequest& request, Rank rank);

}  // namespace tutti
