// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/execute/plan/moves.hpp"
#include "collectives/execute/plan/plan_request.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// A run of entries in one of the program's lists.
struct Entries {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
};

/// A message and the peer at its other end. For sends the memory is only read.
struct Post {
    Rank peer;
    std::span<std::byte> memory;
};

/// One step: pack, post receives and sends, wait for all, then move what arrived.
struct MessageStep {
    int number;
    Entries packing;
    Entries receives;
    Entries sends;
    Entries moves;
};

/// One lane of one rank's part as a list of steps. Steps in which this rank has no messages are
/// left out.
struct MessageProgram {
    MessageProgram(const Call& call, const CallBuffers& buffers)
        : device(buffers.device),
          queue(device != nullptr ? device->queue() : nullptr),
          moves(call.type, call.op, buffers, queue.get()) {}

    /// Switches to other buffers of the caller, which fit.
    void rebind(const CallerMemory& caller);

    MemoryDevice* device;                ///< device that holds all memory; null for the host
    std::unique_ptr<DeviceQueue> queue;  ///< queue of that device
    std::vector<MessageStep> steps;
    std::vector<Post> receives;
    std::vector<Post> sends;
    Moves moves;
    Entries settling;             ///< at the end: results that are not at their destination
    std::size_t most_posts = 0;   ///< in one step
    std::size_t most_to_one = 0;  ///< between two ranks
    std::size_t most_bytes = 0;   ///< largest message
    /// Memory for chunks in transit, for arriving data, and for packed data: as large as the
    /// schedule needs.
    std::shared_ptr<std::byte> memory, inbox, outbox;
};

/// Compiles a program for each lane, see draft_messages. Messages over `most_bytes` are cut.
std::vector<MessageProgram> compile_messages(const PlanRequest& request, const World& world,
                                             std::size_t most_bytes);

}  // namespace tutti
