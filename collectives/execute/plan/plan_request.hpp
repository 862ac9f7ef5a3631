// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "collectives/execute/plan/caller_memory.hpp"
#include "collectives/execute/plan/layout.hpp"
#include "collectives/execute/plan/store_choice.hpp"
#include "collectives/schedule/schedule.hpp"
#include "collectives/transport/shm/host_transport.hpp"
#include "collectives/world/shared_memory.hpp"
#include "topology/machine/host_tuning.hpp"

namespace tutti {

/// Lanes of a plan by messages: no chunk ever meets another, so a plan may distribute its chunks
/// over lanes that go through the steps each at their own pace. While one waits for the end of a
/// step, the others keep the network busy. Channels of a schedule and segments of a pipelined one
/// go to lanes round-robin.
struct Lanes {
    int count = 1;
    int segments = 1;         ///< of the schedule: its chunk c is of segment c % segments
    int channels = 1;         ///< of the schedule: see side_by_side
    int chunks_of_share = 1;  ///< what a channel carries of a block
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
    /// Sizes as input_bytes() and output_bytes() say; they coincide as in_place_offsets() says, or
    /// do not overlap.
    CallBuffers buffers = {};
    std::string what = {};  ///< names the plan in reports: "all_reduce ring (shm)"
    int number = 0;         ///< of the plan, the same on all ranks; one for each lane from here on
    Lanes lanes = {};
    /// Memory that holds both buffers and that peers can reach; none, on all ranks alike:
    /// unregistered.
    const ReachableMemory* registered = nullptr;
    /// How peers read unregistered memory.
    UnregisteredMethod unregistered = UnregisteredMethod::copy_in_copy_out;
    /// Runs, one after the other, that one start of a plan on devices does.
    unsigned runs = 1;
    /// How results are stored that nobody reads in the call.
    StoreChoice stores = StoreChoice();
};

/// True if the rank's output holds the result before the call, as at the root of an in-place
/// broadcast. A plan must not write there, not even the same values: it may be read-only memory.
bool has_result_before(const PlanRequest& request, Rank rank);

/// One chunk on its way in or out of this rank at some step.
struct RankTransfer {
    int chunk;
    Rank peer;
    Action action;
};

/// One rank's transfers of one step, in the order of the schedule; chunks without bytes are left
/// out.
struct RankStep {
    int number = 0;
    std::vector<RankTransfer> sends = {};     ///< to other ranks
    std::vector<RankTransfer> receives = {};  ///< from other ranks and from itself
    bool is_empty() const { return sends.empty() && receives.empty(); }
};

/// The steps in which the rank has transfers, read from the schedule of the request.
std::vector<RankStep> rank_steps(const PlanRequest& request, Rank rank);

/// The transfers of each peer, by their index; peers and transfers in their order.
std::vector<std::vector<std::size_t>> by_peer(const std::vector<RankTransfer>& transfers);

/// What a step does to one chunk of a rank.
struct Traffic {
    int receives = 0;
    bool is_sent = false;
};

/// By chunk.
std::unordered_map<int, Traffic> traffic_of(const RankStep& step);

/// Whether reading unregistered memory through the kernel (single-copy) is expected to pay for a
/// call of this size. The cost model asks this; a plan finds out by trying.
bool is_worth_single_copy(const Call& call, int ranks, int chunks, const HostTuning& tuning);

/// In how many pieces of about that size, pipelined, a schedule of so many chunks is copied in and
/// out.
int copy_in_pieces(const Call& call, int ranks, int chunks, Bytes piece);

}  // namespace tutti
