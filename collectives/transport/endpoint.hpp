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
#include "collectives/world/world.hpp"

namespace tutti {

/// What a plan will ask of its endpoint, known before it runs, so that nothing is allocated then.
struct EndpointNeeds {
    int plan = 0;  ///< number of the plan, equal on all ranks: messages of plans never mix
    std::size_t most_posts = 0;    ///< most messages posted in one step
    std::size_t most_to_one = 0;   ///< most of them for one peer: 1 unless messages are cut
    std::size_t most_bytes = 0;    ///< in one message
    std::vector<Rank> peers = {};  ///< all that it sends to or receives from
    /// Between the memory of devices: the queue's earlier work is done before a posted message is
    /// sent; work queued after all_done() begins after the messages.
    DeviceQueue* queue = nullptr;
};

/// A plan's connections to its peers. Messages between two ranks arrive in the order sent.
class Endpoint {
public:
    virtual ~Endpoint() = default;

    /// Both return at once. The memory stays untouched by the caller until all_done().
    virtual void post_receive(int step, Rank from, std::span<std::byte> into) = 0;
    virtual void post_send(int step, Rank to, std::span<const std::byte> from) = 0;

    /// Whether everything posted is finished; then new messages may be posted.
    virtual bool all_done() = 0;

    /// A peer that this rank still waits for, for the report of a hang.
    virtual std::optional<Rank> waits_for() const = 0;

    /// For endpoints that run in the order of a queue: the step that the queue has reached.
    struct Outstanding {
        int step = 0;
        std::vector<Rank> peers = {};  ///< of these messages; no more is known of who is late
    };
    virtual std::optional<Outstanding> outstanding() const { return std::nullopt; }
    /// Throws Error (rank_lost) if that will never end.
    virtual void throw_if_failed() {}
    /// Cancels what is open: from here on it touches no memory of the caller.
    virtual void give_up() {}

    /// A message that came and was never received, in words: a sign of a doubled transfer.
    virtual std::optional<std::string> left_over() const { return std::nullopt; }
};

/// Moves bytes between ranks.
class Transport {
public:
    virtual ~Transport() = default;
    virtual std::string_view name() const = 0;
    /// What it found on this rank and takes, in words; empty where its name says all.
    virtual std::string details() const { return ""; }
};

/// Moves bytes by message.
class MessageTransport : public Transport {
public:
    /// For one plan. Collective: all ranks connect the same plans in the same order, so it may use
    /// the World to exchange addresses; everything that allocates happens here. Bytes move while
    /// all_done() is called; a receive is as long as the message that it meets.
    virtual std::unique_ptr<Endpoint> connect(const EndpointNeeds& needs) = 0;
    /// Takes device memory, and only that: endpoints need a queue.
    virtual bool is_between_devices() const { return false; }
    /// Messages run in the order of their queue: all_done() is true at once, all ranks must start
    /// their runs in the same order, and lanes bring nothing.
    virtual bool follows_queue() const { return false; }
    /// Larger messages are cut by the plan.
    virtual std::size_t most_bytes() const { return std::size_t{1} << 30; }
};

}  // namespace tutti
