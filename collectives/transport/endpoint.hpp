// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/index.hpp"
#include "collectives/device/memory_device.hpp"
#include "collectives/world/shared_plan_memory.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// A plan's requirements for its endpoint, known before it runs, so that nothing is allocated then.
struct EndpointNeeds {
    /// The plan's number, equal on all ranks: messages of different plans never mix.
    int plan = 0;
    std::size_t most_posts = 0;    ///< maximum number of messages posted in one step
    std::size_t most_to_one = 0;   ///< maximum of them for one peer: 1 unless messages are cut
    std::size_t most_bytes = 0;    ///< largest message
    std::vector<Rank> peers = {};  ///< all ranks that it sends to or receives from
    /// For messages between memory of devices: a posted message is sent after the queue's earlier
    /// work, and work queued after all_done() begins after the messages.
    DeviceQueue* queue = nullptr;
    /// The plan's shared memory, which is provided after connect(). Messages within a host need it.
    SharedPlanMemory* memory = nullptr;
};

/// A plan's connections to its peers. Messages between two ranks arrive in the order sent.
class Endpoint {
public:
    virtual ~Endpoint() = default;

    /// Return at once. The caller does not touch the memory until all_done().
    virtual void post_receive(int step, Rank from, std::span<std::byte> into) = 0;
    virtual void post_send(int step, Rank to, std::span<const std::byte> from) = 0;

    /// Whether all posted messages are finished; then new ones may be posted.
    virtual bool all_done() = 0;

    /// Returns a peer that this rank still waits for, for the report of a hang.
    virtual std::optional<Rank> waits_for() const = 0;
    /// Names the way to a peer, for the same report: "shared memory". Empty if all peers are
    /// reached in the same way.
    virtual std::string_view way_to(Rank) const { return ""; }

    /// The step that the queue has reached, for endpoints that run in the order of a queue.
    struct Outstanding {
        int step = 0;
        /// Peers of its messages; it is not known which of them is late.
        std::vector<Rank> peers = {};
    };
    virtual std::optional<Outstanding> outstanding() const { return std::nullopt; }
    /// Throws Error (rank_lost) if the messages will never complete.
    virtual void throw_if_failed() {}
    /// Cancels open messages: from here on it touches no memory of the caller.
    virtual void give_up() {}

    /// Describes a message that arrived and was never received: a sign of a doubled transfer.
    virtual std::optional<std::string> left_over() const { return std::nullopt; }
};

/// Moves bytes between ranks by messages.
class MessageTransport {
public:
    virtual ~MessageTransport() = default;
    virtual std::string_view name() const = 0;
    /// Describes what the transport found and uses on this rank; empty if its name says all.
    virtual std::string details() const { return ""; }
    /// Connects one plan. Collective: all ranks connect the same plans in the same order, so it may
    /// use the World to exchange addresses, and allocates everything here. Bytes move while
    /// all_done() is called; a receive is as long as its message.
    virtual std::unique_ptr<Endpoint> connect(const EndpointNeeds& needs) = 0;
    /// Whether messages run in the order of their queue: all_done() is then true at once, all ranks
    /// must start their runs in the same order, and lanes have no effect.
    virtual bool follows_queue() const { return false; }
    /// Maximum message size; plans cut larger messages.
    virtual std::size_t most_bytes() const { return std::size_t{1} << 30; }
};

}  // namespace tutti
