// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "collectives/execute/plan/layout.hpp"
#include "collectives/execute/plan/store_choice.hpp"
#include "collectives/schedule/schedule.hpp"
#include "collectives/transport/shm/host_transport.hpp"
#include "collectives/world/shared_memory.hpp"

namespace tutti {

/// Lanes of a plan by message: no chunk ever meets another, so a plan may deal its chunks to lanes
/// that go through the steps each at their own pace. While one waits for the end of a step, the
/// others keep the network busy. Channels of a schedule and segments of a pipelined one are dealt
/// in turn.
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
    std::span<const std::byte> input;
    std::span<std::byte> output;
    MemoryDevice* device = nullptr;  ///< in whose memory they lie; none: the host's
    std::string what;                ///< names the plan in reports: "all_reduce ring (shm)"
    int number = 0;  ///< of the plan, the same on all ranks; one for each lane from here on
    Lanes lanes = {};
    /// Memory that holds both buffers and that peers can reach; none, on all ranks alike:
    /// unregistered.
    const ReachableMemory* registered = nullptr;
    /// How peers come to what lies in unregistered memory.
    UnregisteredMethod unregistered = UnregisteredMethod::copy_in_copy_out;
    /// What one start of a plan on devices does: so many runs, one after the other.
    unsigned runs = 1;
    /// How results are stored that nobody reads in the call.
    StoreChoice stores = StoreChoice();
};

/// One chunk on its way in or out of this rank at some step.
struct RankTransfer {
    int chunk;
    Rank peer;
    Action action;
};

/// What one step asks of one rank, in the order said; chunks without bytes are left out.
struct RankStep {
    std::vector<RankTransfer> sends;     ///< to other ranks
    std::vector<RankTransfer> receives;  ///< from other ranks and from itself
    bool is_empty() const { return sends.empty() && receives.empty(); }
};

void read_step(const Schedule& schedule, int step, Rank rank, const Layout& layout, RankStep& out);

/// The transfers of each peer, by their index; peers and transfers in the order said.
std::vector<std::vector<std::size_t>> by_peer(const std::vector<RankTransfer>& transfers);

/// What a step does to one chunk of a rank.
struct Traffic {
    int receives = 0;
    bool is_sent = false;
};

/// By chunk.
std::unordered_map<int, Traffic> traffic_of(const RankStep& step);

}  // namespace tutti
