// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "collectives/transport/faults.hpp"
#include "collectives/world/world.hpp"

namespace tutti {

/// Carries a fault out: decides which message is harmed, and keeps the harmed copies.
class FaultInjector {
public:
    FaultInjector(World& world, const Fault& fault) : world_(world), fault_(fault) {}

    /// What happens to the message that `me` is sending. A rank that stops does not come back.
    std::optional<Fault::Kind> fault_for(Rank me, Rank to, int step) {
        const bool matches = fault_.from.value_or(me) == me && fault_.to.value_or(to) == to &&
                             fault_.step.value_or(step) == step;
        if (!matches || seen_++ < fault_.nth) return std::nullopt;
        if (fault_.kind == Fault::Kind::stop) stop();
        // One message more moves all later ones back; more would only fill the queue.
        if (fault_.kind == Fault::Kind::doubled && seen_ > fault_.nth + 1) return std::nullopt;
        return fault_.kind;
    }

    std::int64_t delivery_time_ns() const {
        if (fault_.delay_seconds == 0) return std::numeric_limits<std::int64_t>::max();
        return now_ns() + static_cast<std::int64_t>(fault_.delay_seconds * 1e9);
    }

    std::span<const std::byte> kept_copy(std::span<const std::byte> message) {
        return copies_.emplace_back(message.begin(), message.end());
    }

    std::span<const std::byte> corrupted_copy(std::span<const std::byte> message) {
        if (copies_.size() > 64) copies_.pop_front();  // long since received
        auto& copy = copies_.emplace_back(message.begin(), message.end());
        if (!copy.empty()) copy[copy.size() / 2] ^= std::byte{0x10};
        return copy;
    }

private:
    // Silent until another rank gives up on this one.
    [[noreturn]] void stop() {
        world_.hang_timeout = 1e6;
        world_.barrier();
        throw OthersFailed();
    }

    World& world_;
    Fault fault_;
    long seen_ = 0;
    std::deque<std::vector<std::byte>> copies_;
};

}  // namespace tutti
