// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "collectives/world/signal.hpp"

namespace tutti {

/// Messages from one thread to another, oldest first, in a ring of slots: one writer, one reader.
/// Only addresses are passed; the writer must not change a message until it is taken.
template <class Orders = InOrder>
class MessageQueue {
public:
    void make_room_for(std::size_t messages) { slots_.resize(messages); }

    std::uint64_t sent() { return seen<Orders>(sent_); }
    std::uint64_t taken() { return seen<Orders>(taken_); }
    bool is_full() { return sent() - taken() == slots_.size(); }

    void send(std::span<const std::byte> message) {
        slots_[sent_ % slots_.size()] = message;
        publish<Orders>(sent_, sent_ + 1);
    }

    /// Copies the oldest message, if there is one. If lengths differ, the shorter counts.
    bool take(std::span<std::byte> into) {
        if (sent() == taken_) return false;
        const auto message = slots_[taken_ % slots_.size()];
        if (!into.empty())
            std::memcpy(into.data(), message.data(), std::min(into.size(), message.size()));
        publish<Orders>(taken_, taken_ + 1);
        return true;
    }

private:
    std::vector<std::span<const std::byte>> slots_;
    // Both are never reset; each is written by one side only, which may read its own without
    // ordering.
    std::uint64_t sent_ = 0, taken_ = 0;
};

}  // namespace tutti
